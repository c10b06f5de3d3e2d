// Batch fits and the release of one: total on any cells, and never NaN.
#include <cmath>

#include "dpreg/mechanisms/sub_lasso.hpp"
#include "dpreg/mechanisms/tukey_em.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/batch_fit.hpp"
#include "table.hpp"

using namespace dpreg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    const fuzz::Table table(bytes);
    TestBits bits(bytes.byte());
    const auto models = 1 + bytes.below(6);
    const auto assignment = bytes.below(2) == 0
                                ? assign_to_slots(table.rows, models, 1 + bytes.below(5), bits)
                                : assign_independently(table.rows, models, bits);
    BatchFit options;
    options.intercept = bytes.below(2) == 0;
    options.log_spreads = bytes.below(2) == 0;
    options.ridge = bytes.below(2) == 0 ? 0.0 : 0.03;
    const auto fits = fit_batches(table.matrix(), table.response(), assignment, {}, options);
    for (const double v : fits) fuzz::demand(!std::isnan(v), "a model is NaN");

    const auto p = options.vector_size(table.cols);
    if (p > 0) {
        const DepthRegions regions(fits, models, p, static_cast<int>(bytes.byte()) - 128);
        const auto t = 1 + bytes.below(4);
        fuzz::demand(distance_to_unsafety(regions, 1.0, t, 0.1) >= -1, "distance");
        const auto point = tukey_em(regions, {t, 1.0, 1.0, 0.5}, bits);
        if (point) {
            for (const double v : *point) fuzz::demand(std::isfinite(v), "a point is not finite");
        }
    }
    if (table.cols > 0) {
        const auto k = 1 + bytes.below(table.cols);
        const auto votes = lasso_votes(table.matrix(), table.response(), assignment, {},
                                       ColumnGroups::singles(table.cols), {}, k);
        double total = 0.0;
        for (const double v : votes) {
            fuzz::demand(v >= 0.0 && v <= static_cast<double>(models), "votes");
            total += v;
        }
        fuzz::demand(total <= static_cast<double>(models * k), "too many votes");
    }
    return 0;
}
