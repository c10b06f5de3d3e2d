#include "row_maker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "dpreg/error.hpp"
#include "row_steps.hpp"

namespace dpreg {
namespace {

/// Below this limit squares are rounded too much to compare norms.
constexpr double kLeastShort = 0x1p-500;

/// Entries of a row.
std::size_t row_width(const Standardisation& how) {
    const std::size_t regressors = how.mapped > 0 ? how.mapped : how.columns.size() + how.intercept;
    return regressors + (how.response_limit > 0.0 ? 1 : 0);
}

/// What kRowSteps stand for.
double row_limit(const Standardisation& how) {
    return std::hypot(how.row_limit, std::max(how.response_limit, 0.0));
}

RowMap row_map(const Standardisation& how) {
    const std::size_t width = how.mapped;
    const std::size_t used = how.columns.size();
    RowMap result;
    result.base.assign(padded(width), 0.0);
    result.slopes.assign(used * padded(width), 0.0);
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

/// Throws Error if `how` does not fit `x` and `y`.
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

}  // namespace

void check_loss(const Loss& loss) {
    const auto ordered = [](double low, double high) {
        return std::isfinite(low) && std::isfinite(high) && low <= high;
    };
    if (loss.kind == LossKind::squared) return;
    require(ordered(loss.least_response, loss.most_response), "limits of responses must not fall");
    require(ordered(loss.least_predictor, loss.most_predictor),
            "limits of linear predictors must not fall");
    require(std::max(-loss.least_predictor, loss.most_predictor) <= kMostPredictor,
            "linear predictors must be within kMostPredictor of 0");
    require(loss.kind != LossKind::probit ||
                std::max(-loss.least_predictor, loss.most_predictor) <= kMostNormal,
            "linear predictors of a probit must be within kMostNormal of 0");
    require(loss.level > 0.0 && loss.level < 1.0, "level must be between 0 and 1");
    require((loss.kind != LossKind::gamma && loss.kind != LossKind::negative_binomial) ||
                loss.least_response >= 0.0,
            "responses of this loss must not be below 0");
    require(loss.dispersion > 0.0 && std::isfinite(loss.dispersion), "dispersion must be positive");
    require(loss.bandwidth > 0.0 && std::isfinite(loss.bandwidth), "bandwidth must be positive");
}

RowMaker::Room::Room(const RowMaker& maker)
    : cells(kMakeRows * maker.used()),
      used(maker.used()),
      z(kMakeRows * maker.stride(), 0.0),
      steps(kMakeRows * maker.stride(), 0) {}

RowMaker::RowMaker(const MatrixView& x, const VectorView& y, const Standardisation& how)
    : x_(x),
      y_(y),
      how_(how),
      width_(row_width(how)),
      regressors_(width_ - (how.response_limit > 0.0 ? 1 : 0)),
      limit_(row_limit(how)),
      steps_per_unit_(kRowSteps / limit_),
      most_square_(row_norm(width_) * row_norm(width_)),
      short_square_(how.row_limit < kLeastShort ? -1.0
                                                : (1 - 0x1p-40) * how.row_limit * how.row_limit) {
    check_public(x, y, how);
    for (std::size_t j = 0; j < used(); ++j) {
        limited_ = limited_ || how.low[j] > -HUGE_VAL || how.high[j] < HUGE_VAL;
    }
    for (std::size_t j = 0; j < used() && how.columns[j] < x.cols; ++j) {
        if (how.columns[j] != how.columns[0] + j) break;
        adjacent_ = j + 1;
    }
    if (x.col_stride != 1 || adjacent_ < kPanel) adjacent_ = 0;
    map_ = row_map(how);
}

void RowMaker::make(const std::size_t* records, std::size_t count, const RowPlaces& to,
                    std::size_t at, Room& room) const {
    constexpr LanesKernel<Steps> kernel;
    const Steps steps{*this, to, room};
    // Where a slope is not finite a cell of 0 would add something: no row beside another.
    const std::size_t most = map_.finite ? kMakeRows : 1;
    for (std::size_t done = 0; done < count; done += most) {
        kernel(steps, records + done, std::min(most, count - done), at + done);
    }
}

void RowMaker::make_from(std::size_t first, std::size_t count, const RowPlaces& to, std::size_t at,
                         Room& room) const {
    std::array<std::size_t, kMakeRows> records{};
    for (std::size_t done = 0; done < count; done += kMakeRows) {
        std::iota(records.begin(), records.end(), first + done);
        make(records.data(), std::min(kMakeRows, count - done), to, at + done, room);
    }
}

}  // namespace dpreg
