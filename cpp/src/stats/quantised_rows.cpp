#include "dpreg/stats/quantised_rows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dpreg/error.hpp"
#include "row_blocks.hpp"

namespace dpreg {
namespace {

/// A cell of a record that is not 0, its column among those that are used.
struct Cell {
    std::size_t column;
    double value;
};

/// Finds the cells of record i, within their limits; false if one is not finite.
bool gather(const Standardisation& how, const MatrixView& x, std::size_t i,
            std::vector<Cell>& cells) {
    cells.clear();
    double check = 0.0;
    for (std::size_t j = 0; j < how.columns.size(); ++j) {
        const double value = x(i, how.columns[j]);
        const double limited = std::min(std::max(value, how.low[j]), how.high[j]);
        check += value * 0.0;
        if (limited != 0.0) cells.push_back({j, limited});
    }
    return std::isfinite(check);
}

/// A public map of records, its rows padded to whole lanes.
struct RowMap {
    std::vector<double> base;    ///< the row of a record of zeros
    std::vector<double> slopes;  ///< what one more of each column adds
    std::size_t stride = 0;
};

RowMap row_map(const Standardisation& how, const std::vector<double>& map) {
    const std::size_t width = how.mapped;
    RowMap result;
    result.stride = padded(width);
    result.base.assign(result.stride, 0.0);
    result.slopes.assign(how.columns.size() * result.stride, 0.0);
    const double* row = map.data();
    if (how.intercept && width > 0) {
        std::copy(row, row + width, result.base.begin());
        row += width;
    }
    for (std::size_t j = 0; j < how.columns.size(); ++j, row += width) {
        double* slope = result.slopes.data() + j * result.stride;
        for (std::size_t k = 0; k < width; ++k) {
            slope[k] = how.inverse_scale[j] * row[k];
            result.base[k] -= how.centre[j] * slope[k];
        }
    }
    return result;
}

/// The image of a record, with room for whole lanes: cells are added in the order of columns.
DPREG_INLINE void add_cells(const RowMap& map, const std::vector<Cell>& cells, double* z) {
    for (std::size_t k = 0; k < map.stride; k += kPanel) {
        Lanes sum = load_lanes(map.base.data() + k);
        for (const auto& cell : cells) {
            sum += cell.value * load_lanes(map.slopes.data() + cell.column * map.stride + k);
        }
        for (std::size_t lane = 0; lane < kPanel; ++lane) z[k + lane] = sum[lane];
    }
}

void image_portable(const RowMap& map, const std::vector<Cell>& cells, double* z) {
    add_cells(map, cells, z);
}

DPREG_TARGET("avx2")
void image_avx2(const RowMap& map, const std::vector<Cell>& cells, double* z) {
    add_cells(map, cells, z);
}

DPREG_TARGET("avx512f")
void image_avx512(const RowMap& map, const std::vector<Cell>& cells, double* z) {
    add_cells(map, cells, z);
}

const auto image_kernel = best_of(image_portable, image_avx2, image_avx512);

/// The row of a record without a map.
void standard_row(const Standardisation& how, const std::vector<Cell>& cells, double* z) {
    if (how.intercept) *z++ = 1.0;
    for (std::size_t j = 0; j < how.columns.size(); ++j) z[j] = -how.centre[j];
    for (const auto& cell : cells) z[cell.column] = cell.value - how.centre[cell.column];
    for (std::size_t j = 0; j < how.columns.size(); ++j) z[j] *= how.inverse_scale[j];
}

/// How much of a row is kept, so that it is no longer than the limit; NaN if it has no length.
double kept_share(const double* z, std::size_t size, double limit) {
    double norm = 0.0;
    for (std::size_t j = 0; j < size; ++j) norm += z[j] * z[j];
    norm = std::sqrt(norm);
    if (!std::isfinite(norm)) return std::nan("");
    return norm > limit ? limit / norm : 1.0;
}

/// Shortens z, rounds it and returns the shortened response; a row of zeros if it has no length.
double quantise(const Standardisation& how, double limit, std::size_t regressors, std::size_t width,
                double* z, double weight, double response, std::int16_t* q) {
    if (!std::isfinite(weight) || !std::isfinite(response)) return 0.0;
    for (std::size_t j = 0; j < regressors; ++j) z[j] *= weight;
    if (regressors < width) {
        z[regressors] =
            std::min(std::max(weight * response, -how.response_limit), how.response_limit);
    }
    double squares = 0.0;
    constexpr double most = kRowSteps;
    for (std::size_t j = 0; j < width; ++j) {
        // The constant first: what is not a number becomes the least step.
        const double place = z[j] * (kRowSteps / limit);
        const double step = std::nearbyint(std::min(std::max(-most, place), most));
        q[j] = static_cast<std::int16_t>(step);
        squares += step * step;
    }
    if (squares > row_norm(width) * row_norm(width)) {
        std::fill(q, q + width, std::int16_t{0});
        return 0.0;
    }
    return weight * response;
}

/// The sum of the cells of record i that are added to its linear predictor.
double given_sum(const Standardisation& how, const MatrixView& x, std::size_t i) {
    double sum = 0.0;
    for (const auto column : how.given) sum += x(i, column);
    return sum;
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
    require(how.turn.empty() || how.turn.size() == how.mapped * how.mapped,
            "turn must be a square of the columns of map");
    for (const auto column : how.columns) require(column < x.cols, "no such column");
    for (const auto column : how.given) require(column < x.cols, "no such column");
    require(how.given.empty() || how.loss.kind != LossKind::squared,
            "the squared loss has no given columns");
    check_loss(how.loss);
}

/// The map and the turn after it.
std::vector<double> turned(const Standardisation& how) {
    const std::size_t size = how.mapped;
    if (how.turn.empty()) return how.map;
    std::vector<double> result(how.map.size(), 0.0);
    for (std::size_t i = 0; i < how.map.size(); ++i) {
        for (std::size_t j = 0; j < size; ++j) {
            result[i / size * size + j] += how.map[i] * how.turn[i % size * size + j];
        }
    }
    return result;
}

std::size_t row_width(const Standardisation& how) {
    const std::size_t regressors = how.mapped > 0 ? how.mapped : how.columns.size() + how.intercept;
    return regressors + (how.response_limit > 0.0 ? 1 : 0);
}

}  // namespace

double row_norm(std::size_t width) {
    return kRowSteps + 0.5 * std::sqrt(static_cast<double>(width)) + 1e-6;
}

double gram_sensitivity(std::size_t width) { return row_norm(width) * row_norm(width); }

QuantisedRows::QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                             const Grouping& units, std::size_t threads)
    : width_(row_width(how)),
      stride_(padded(width_)),
      limit_(std::hypot(how.row_limit, std::max(how.response_limit, 0.0))),
      loss_(how.loss),
      offsets_(units.offsets) {
    check_public(x, y, how);
    const bool grouped = !offsets_.empty();
    const std::size_t count = grouped ? units.rows.size() : x.rows;
    require(!grouped || offsets_.back() == count, "the offsets of units must end with their rows");
    q_.assign(count * stride_, 0);
    y_.assign(count, 0.0);
    const bool shrunk = loss_.kind == LossKind::squared;
    weights_.assign(shrunk ? 0 : count, 1.0);
    given_.assign(shrunk ? 0 : count, 0.0);
    const std::size_t regressors = width_ - (how.response_limit > 0.0 ? 1 : 0);
    const RowMap map = row_map(how, how.map);
    const RowMap after = row_map(how, turned(how));
    parallel_ranges(count, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<double> z(padded(stride_ + 1));
        std::vector<Cell> cells;
        for (std::size_t k = begin; k < end; ++k) {
            const std::size_t i = grouped ? units.rows[k] : k;
            require(i < x.rows, "no such row");
            if (!gather(how, x, i, cells)) continue;
            if (how.mapped > 0) {
                image_kernel(map, cells, z.data());
            } else {
                standard_row(how, cells, z.data());
            }
            const double weight = kept_share(z.data(), regressors, how.row_limit);
            if (!how.turn.empty()) image_kernel(after, cells, z.data());
            const double response = (y[i] - how.y_centre) * how.y_inverse_scale;
            y_[k] = quantise(how, limit_, regressors, width_, z.data(), weight, response,
                             q_.data() + k * stride_);
            if (shrunk || !std::isfinite(weight)) continue;
            y_[k] = std::min(std::max(loss_.least_response, response), loss_.most_response);
            weights_[k] = weight;
            given_[k] = given_sum(how, x, i);
        }
    });
}

QuantisedRows::QuantisedRows(Parts parts)
    : width_(parts.width),
      stride_(padded(parts.width)),
      limit_(parts.limit),
      q_(std::move(parts.q)),
      y_(std::move(parts.y)),
      loss_(parts.loss),
      weights_(std::move(parts.weights)),
      given_(std::move(parts.given)),
      offsets_(std::move(parts.offsets)) {
    const std::size_t weighed = loss_.kind == LossKind::squared ? 0 : y_.size();
    require(weights_.size() == weighed && given_.size() == weighed,
            "rows of another loss than the squared one must have weights");
    check_loss(loss_);
    require(q_.size() == y_.size() * stride_, "rows must have `width` entries, padded");
    require(offsets_.empty() || offsets_.back() == y_.size(),
            "the offsets of units must end with their rows");
}

Block QuantisedRows::block(std::size_t first, std::size_t count) const {
    const bool shrunk = weights_.empty();
    return {q_.data() + first * stride_,
            y_.data() + first,
            count,
            stride_,
            limit_ / kRowSteps,
            &loss_,
            shrunk ? nullptr : weights_.data() + first,
            shrunk ? nullptr : given_.data() + first};
}

std::vector<std::int64_t> QuantisedRows::gram(std::size_t threads) const {
    return sum_of_products(rows(), width_, threads,
                           [&](std::size_t first, std::size_t count, double* block) {
                               const std::int16_t* q = q_.data() + first * stride_;
                               for (std::size_t k = 0; k < count * stride_; ++k) block[k] = q[k];
                           });
}

}  // namespace dpreg
