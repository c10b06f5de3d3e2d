// Scores of columns: total on any cells, changes by one row within the range of the noise.
#include <algorithm>
#include <cmath>

#include "dpreg/mechanisms/canonical_lipschitz.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "table.hpp"

using namespace dpreg;

namespace {

VectorView column(const MatrixView& x, std::size_t j) {
    return {x.rows == 0 ? x.data : x.data + j, x.rows, x.row_stride};
}

/// The changes of all scores lie in an interval of this length.
double span(const std::vector<double>& after, const std::vector<double>& before) {
    double low = 0.0;
    double high = 0.0;
    for (std::size_t k = 0; k < after.size(); ++k) {
        const double change = after[k] - before[k];
        fuzz::demand(std::isfinite(change), "a score is not finite");
        low = k == 0 ? change : std::min(low, change);
        high = k == 0 ? change : std::max(high, change);
    }
    return (high - low) * (1.0 - 1e-9);
}

std::vector<double> kendall(const MatrixView& x, const VectorView& y) {
    std::vector<double> scores;
    for (std::size_t j = 0; j < x.cols; ++j) {
        scores.push_back(std::fabs(kendall_tau(column(x, j), y)));
    }
    return scores;
}

void distinct(const std::vector<std::size_t>& chosen, std::size_t k, std::size_t d) {
    fuzz::demand(chosen.size() == k, "k columns");
    for (std::size_t a = 0; a < k; ++a) {
        fuzz::demand(chosen[a] < d, "a column that is not there");
        for (std::size_t b = 0; b < a; ++b) fuzz::demand(chosen[a] != chosen[b], "a column twice");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    const fuzz::Table table(bytes);
    const auto d = table.cols;
    if (d == 0) return 0;
    const auto k = 1 + bytes.below(d);
    TestBits bits(bytes.byte());

    const auto scores = kendall(table.matrix(), table.response());
    fuzz::demand(
        span(scores, kendall(table.shorter(), table.shorter_response())) <= kKendallLabelRange,
        "range of Kendall scores");

    KendallChoice choice;
    choice.k = k;
    choice.epsilon_round = 1.0;
    distinct(dp_kendall(table.matrix(), table.response(), ColumnGroups::singles(d), choice, bits),
             k, d);
    // Any doubles are scores, but that -infinity is a candidate which may never be chosen.
    std::vector<double> any(d);
    for (auto& score : any) score = std::fmax(bytes.cell(), -1e308);
    distinct(peel(any, k, 2.0, 1.0, bits), k, d);
    CanonicalLipschitz options;
    options.k = k;
    options.range = 2.0;
    options.epsilon = 1.0;
    any[0] = bytes.cell();
    distinct(canonical_lipschitz(any, options, bits), k, d);
    return 0;
}
