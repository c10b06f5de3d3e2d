// What is public of rows: their width, their limit and the map that makes them.
#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "row_maker.hpp"

namespace dpreg {

std::size_t row_width(const Standardisation& how) {
    const std::size_t regressors = how.mapped > 0 ? how.mapped : how.columns.size() + how.intercept;
    return regressors + (how.response_limit > 0.0 ? 1 : 0);
}

double row_limit(const Standardisation& how) {
    return std::hypot(how.row_limit, std::max(how.response_limit, 0.0));
}

RowMap row_map(const Standardisation& how) {
    const std::size_t width = how.mapped;
    const std::size_t used = how.columns.size();
    RowMap result;
    result.stride = padded(width);
    result.base.assign(result.stride, 0.0);
    result.slopes.assign(used * result.stride, 0.0);
    const double* row = how.map.data();
    if (how.intercept && width > 0) {
        std::copy(row, row + width, result.base.begin());
        row += width;
    }
    for (std::size_t j = 0; j < used; ++j, row += width) {
        for (std::size_t k = 0; k < width; ++k) {
            const double slope = how.inverse_scale[j] * row[k];
            result.slopes[(k / kPanel * used + j) * kPanel + k % kPanel] = slope;
            result.base[k] -= how.centre[j] * slope;
            result.finite = result.finite && std::isfinite(slope);
        }
    }
    return result;
}

void check_public(const MatrixView& x, const VectorView& y, const Standardisation& how) {
    const auto used = how.columns.size();
    require(x.rows == y.size, "X and y must have the same number of rows");
    require(how.low.size() == used && how.high.size() == used && how.centre.size() == used &&
                how.inverse_scale.size() == used,
            "limits, centre and scale must have one entry a used column");
    require(how.row_limit > 0.0 && std::isfinite(how.row_limit), "row_limit must be positive");
    require(std::isfinite(how.response_limit), "response_limit must be finite");
    require(how.map.size() == how.mapped * (used + how.intercept),
            "map must have a row for each used column, and the intercept");
    require(how.aim.empty() || (how.response_limit <= 0.0 && how.aim.size() == row_width(how)),
            "aim must have one entry an entry of a row, which has no response");
    for (const auto column : how.columns) require(column <= x.cols, "no such column");
    for (const auto column : how.given) require(column < x.cols, "no such column");
    require(!how.weight || *how.weight < x.cols, "no such column");
    require(how.inverse_weight > 0.0 && std::isfinite(how.inverse_weight) &&
                how.most_weight > 0.0 && std::isfinite(how.most_weight),
            "inverse_weight and most_weight must be positive");
    require(how.given.empty() || how.loss.kind != LossKind::squared,
            "the squared loss has no given columns");
    check_loss(how.loss);
}

}  // namespace dpreg
