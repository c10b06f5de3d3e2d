// Exact sums: total on any cells, and one row moves them by no more than is claimed.
#include <cmath>

#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/tail_votes.hpp"
#include "table.hpp"

using namespace dpreg;

namespace {

double distance(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    double total = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k) {
        const auto change = static_cast<double>(a[k] - b[k]);
        total += change * change;
    }
    return std::sqrt(total) * (1.0 - 1e-12);
}

Standardisation standardisation(fuzz::Bytes& bytes, std::size_t cols) {
    Standardisation how;
    for (std::size_t j = 0; j < cols; ++j) {
        how.columns.push_back(j);
        how.low.push_back(-1.0 - static_cast<double>(bytes.byte()));
        how.high.push_back(1.0 + static_cast<double>(bytes.byte()));
        how.centre.push_back(static_cast<double>(bytes.byte()) - 128.0);
        how.inverse_scale.push_back(std::ldexp(1.0, static_cast<int>(bytes.byte()) - 128));
    }
    how.y_inverse_scale = std::ldexp(1.0, static_cast<int>(bytes.byte()) - 128);
    how.intercept = bytes.below(2) == 1;
    how.row_limit = 0.1 + static_cast<double>(bytes.byte());
    how.response_limit = bytes.below(2) == 1 ? 4.0 : 0.0;
    return how;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    const auto how_cols = bytes.below(2);
    const fuzz::Table table(bytes);
    const std::vector<double> low(table.cols, -1.0);
    const std::vector<double> high(table.cols, 3.0);

    const auto d = table.cols;
    const std::vector<double> ones(d, 1.0);
    fuzz::demand(distance(magnitude_counts(table.matrix()), magnitude_counts(table.shorter())) <=
                     counts_sensitivity(ones),
                 "magnitude_counts");
    fuzz::demand(
        distance(interval_counts(table.matrix(), low, high, 7),
                 interval_counts(table.shorter(), low, high, 7)) <= counts_sensitivity(ones),
        "interval_counts");
    fuzz::demand(distance(moment_sums(table.matrix(), low, high),
                          moment_sums(table.shorter(), low, high)) <= moments_sensitivity(ones),
                 "moment_sums");

    const auto how = standardisation(bytes, how_cols == 0 ? d : d / 2);
    const QuantisedRows rows(table.matrix(), table.response(), how, {});
    const QuantisedRows fewer(table.shorter(), table.shorter_response(), how, {});
    const auto width = rows.width();
    fuzz::demand(distance(rows.gram(), fewer.gram()) <= gram_sensitivity(width), "gram");
    std::vector<double> theta(width);
    for (auto& t : theta) t = static_cast<double>(bytes.byte()) - 128.0;
    const double clip = 0.01 + static_cast<double>(bytes.byte());
    const auto one = rows.round(theta, clip);
    const auto other = fewer.round(theta, clip);
    fuzz::demand(distance(one.gradient, other.gradient) <= gradient_sensitivity(width), "gradient");
    fuzz::demand(std::fabs(static_cast<double>(one.squares - other.squares)) <= kSquaresSensitivity,
                 "squares");
    fuzz::demand(
        distance(rows.score(theta, clip), fewer.score(theta, clip)) <= score_sensitivity(width),
        "score");
    fuzz::demand(distance(rows.score_products(theta, clip), fewer.score_products(theta, clip)) <=
                     score_products_sensitivity(width),
                 "score_products");
    fuzz::demand(distance(rows.score_norms(theta), fewer.score_norms(theta)) <= 1.0, "score_norms");

    Line line{std::vector<double>(d), static_cast<double>(bytes.byte()) - 128.0};
    for (auto& slope : line.slopes)
        slope = std::ldexp(1.0, static_cast<int>(bytes.byte()) * 8 - 1020);
    const std::vector<Limits> limits{
        {std::vector<double>(d + 1, -2.0), std::vector<double>(d + 1, 3.0)},
        {std::vector<double>(d + 1, -9.0), std::vector<double>(d + 1, 9.0)}};
    fuzz::demand(distance(tail_votes(table.matrix(), table.response(), line, limits, clip),
                          tail_votes(table.shorter(), table.shorter_response(), line, limits,
                                     clip)) <= tail_votes_sensitivity(limits.size()),
                 "tail_votes");
    return 0;
}
