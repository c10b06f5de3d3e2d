#include "row_maker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/stats/row_losses.hpp"

namespace dpreg {
namespace {

RowMap row_map(const Standardisation& how, const std::vector<double>& map) {
    const std::size_t width = how.mapped;
    const std::size_t used = how.columns.size();
    RowMap result;
    result.stride = padded(width);
    result.base.assign(result.stride, 0.0);
    result.slopes.assign(used * result.stride, 0.0);
    const double* row = map.data();
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
    require(!how.weight || *how.weight < x.cols, "no such column");
    require(how.inverse_weight > 0.0 && std::isfinite(how.inverse_weight) &&
                how.most_weight > 0.0 && std::isfinite(how.most_weight),
            "inverse_weight and most_weight must be positive");
    require(how.given.empty() || how.loss.kind != LossKind::squared,
            "the squared loss has no given columns");
    check_loss(how.loss);
}

/// Are the used columns all that there are, in their order, and next to one another in memory?
bool lie_side_by_side(const MatrixView& x, const std::vector<std::size_t>& columns) {
    if (x.col_stride != 1 || columns.size() != x.cols) return false;
    for (std::size_t j = 0; j < columns.size(); ++j) {
        if (columns[j] != j) return false;
    }
    return true;
}

}  // namespace

/// The steps from records to rows, in lanes.
struct RowMaker::Steps {
    const RowMaker& maker;
    Room& room;
    std::size_t padded_used;

    DPREG_INLINE double* z_of(std::size_t r) const { return room.z.data() + r * maker.stride(); }

    /// Cells of a record within their limits; 0 all of them if one is not finite.
    template <class Lanes>
    DPREG_INLINE bool gather(std::size_t record, double* values) const {
        const Standardisation& how = maker.how_;
        const std::size_t used = maker.used();
        const double* row =
            maker.x_.data + static_cast<std::ptrdiff_t>(record) * maker.x_.row_stride;
        if (!maker.side_by_side_) {
            for (std::size_t j = 0; j < used; ++j) {
                values[j] = row[static_cast<std::ptrdiff_t>(how.columns[j]) * maker.x_.col_stride];
            }
            row = values;
        }
        Lanes check = Lanes::of(0.0);
        std::size_t j = 0;
        for (; j + kPanel <= used; j += kPanel) {
            const auto value = Lanes::load(row + j);
            check += value * 0.0;
            // With NaN comes a row of zeros.
            below(above(value, Lanes::load(&how.low[j])), Lanes::load(&how.high[j]))
                .store(values + j);
        }
        double rest = 0.0;
        for (; j < used; ++j) {
            rest += row[j] * 0.0;
            values[j] = std::min(std::max(row[j], how.low[j]), how.high[j]);
        }
        if (std::isfinite(rest + check.sum())) return true;
        std::fill(values, values + used, 0.0);
        return false;
    }

    /// Finds the columns in which a record has a cell other than 0.
    DPREG_INLINE void find_cells() const {
        const std::size_t used = maker.used();
        room.used.resize(used);
        std::size_t count = 0;
        for (std::size_t j = 0; j < used; ++j) {
            bool any = false;
            for (std::size_t r = 0; r < kMakeRows; ++r) {
                const double value = room.values[r * padded_used + j];
                room.cells[count * kMakeRows + r] = value;
                any = any | (value != 0.0);
            }
            room.used[count] = static_cast<std::uint32_t>(j);
            count += any ? 1 : 0;
        }
        room.used.resize(count);
    }

    /// The images of the records: cells are added in the order of columns.
    template <class Lanes>
    DPREG_INLINE void add_cells(const RowMap& map) const {
        for (std::size_t k = 0; k < map.stride; k += kPanel) {
            const double* slopes = map.slopes.data() + k * maker.used();
            const double* cell = room.cells.data();
            std::array<Lanes, kMakeRows> sum;
            sum.fill(Lanes::load(&map.base[k]));
            for (const std::uint32_t column : room.used) {
                const auto slope = Lanes::load(slopes + column * kPanel);
                for (std::size_t r = 0; r < kMakeRows; ++r) sum[r] += cell[r] * slope;
                cell += kMakeRows;
            }
            for (std::size_t r = 0; r < kMakeRows; ++r) {
                sum[r].store(z_of(r) + k);
            }
        }
        for (std::size_t r = 0; r < kMakeRows; ++r) {
            std::fill(z_of(r) + map.stride, z_of(r) + maker.stride(), 0.0);
        }
    }

    /// The row of a record without a map.
    DPREG_INLINE void standardise(const double* values, double* z) const {
        const Standardisation& how = maker.how_;
        if (how.intercept) *z++ = 1.0;
        for (std::size_t j = 0; j < maker.used(); ++j) {
            z[j] = (values[j] - how.centre[j]) * how.inverse_scale[j];
        }
    }

    /// What a row is multiplied by: `root`, or less, so that it is no longer than the limit; NaN if
    /// it has no length.
    template <class Lanes>
    DPREG_INLINE double kept_share(const double* z, double root) const {
        Lanes squares = Lanes::of(0.0);
        for (std::size_t k = 0; k < maker.stride(); k += kPanel) {
            const auto entries = Lanes::load(z + k);
            squares += entries * entries;
        }
        const double norm = std::sqrt(squares.sum());
        if (!std::isfinite(norm)) return std::nan("");
        const double limit = maker.how_.row_limit;
        return norm * root > limit ? limit / norm : root;
    }

    /// Shortens z, rounds it and returns the shortened response; zeros if it has no length.
    template <class Lanes>
    DPREG_INLINE double quantise(double* z, double weight, double response, std::int16_t* q) const {
        const Standardisation& how = maker.how_;
        const std::size_t stride = maker.stride();
        if (!std::isfinite(weight) || !std::isfinite(response)) {
            std::fill(q, q + stride, std::int16_t{0});
            return 0.0;
        }
        for (std::size_t k = 0; k < stride; k += kPanel) {
            (Lanes::load(z + k) * weight).store(z + k);
        }
        if (maker.regressors_ < maker.width_) {
            z[maker.regressors_] =
                std::min(std::max(weight * response, -how.response_limit), how.response_limit);
        }
        constexpr double most = kRowSteps;
        Lanes squares = Lanes::of(0.0);
        for (std::size_t k = 0; k < stride; k += kPanel) {
            // What is not a number becomes the least step.
            const Lanes place = clipped(Lanes::load(z + k) * maker.steps_per_unit_, -most, most);
            const Lanes step = nearest(place);
            step.store(q + k);
            squares += step * step;
        }
        if (squares.sum() > maker.most_square_) {
            std::fill(q, q + stride, std::int16_t{0});
            return 0.0;
        }
        return weight * response;
    }

    template <class Lanes>
    DPREG_INLINE void make(const std::size_t* records, std::size_t count,
                           const RowPlaces& to) const {
        const Standardisation& how = maker.how_;
        const std::size_t stride = maker.stride();
        std::array<double, kMakeRows> weights{};
        for (std::size_t r = 0; r < kMakeRows; ++r) {
            double* values = room.values.data() + r * padded_used;
            room.complete[r] = r < count && gather<Lanes>(records[r], values);
            if (r >= count) std::fill(values, values + maker.used(), 0.0);
        }
        if (how.mapped > 0) {
            find_cells();
            add_cells<Lanes>(maker.map_);
        } else {
            std::fill(room.z.begin(), room.z.end(), 0.0);
            for (std::size_t r = 0; r < count; ++r) {
                standardise(room.values.data() + r * padded_used, z_of(r));
            }
        }
        for (std::size_t r = 0; r < count; ++r) {
            weights[r] = kept_share<Lanes>(z_of(r), maker.root_weight(records[r]));
        }
        if (!how.turn.empty()) add_cells<Lanes>(maker.after_);
        for (std::size_t r = 0; r < count; ++r) {
            std::int16_t* q = to.q + r * stride;
            if (!maker.shrunk()) {
                to.weights[r] = 1.0;
                to.given[r] = 0.0;
            }
            if (!room.complete[r]) {
                std::fill(q, q + stride, std::int16_t{0});
                to.y[r] = 0.0;
                continue;
            }
            const double response = (maker.y_[records[r]] - how.y_centre) * how.y_inverse_scale;
            to.y[r] = quantise<Lanes>(z_of(r), weights[r], response, q);
            if (maker.shrunk() || !(weights[r] > 0.0)) continue;
            to.y[r] = std::min(std::max(how.loss.least_response, response), how.loss.most_response);
            to.weights[r] = weights[r];
            to.given[r] = maker.given_sum(records[r]);
        }
    }
};

struct RowMaker::Make {
    template <class Lanes>
    DPREG_INLINE static void run(const Steps& steps, const std::size_t* records, std::size_t count,
                                 const RowPlaces& to) {
        steps.make<Lanes>(records, count, to);
    }
};

std::size_t row_width(const Standardisation& how) {
    const std::size_t regressors = how.mapped > 0 ? how.mapped : how.columns.size() + how.intercept;
    return regressors + (how.response_limit > 0.0 ? 1 : 0);
}

double row_limit(const Standardisation& how) {
    return std::hypot(how.row_limit, std::max(how.response_limit, 0.0));
}

RowMaker::Room::Room(const RowMaker& maker)
    : values(kMakeRows * padded(maker.used()), 0.0),
      used(maker.used()),
      cells(kMakeRows * (maker.used() + 1), 0.0),
      z(kMakeRows * maker.stride(), 0.0) {}

RowMaker::RowMaker(const MatrixView& x, const VectorView& y, const Standardisation& how)
    : x_(x),
      y_(y),
      how_(how),
      width_(row_width(how)),
      regressors_(width_ - (how.response_limit > 0.0 ? 1 : 0)),
      limit_(row_limit(how)),
      steps_per_unit_(kRowSteps / limit_),
      most_square_(row_norm(width_) * row_norm(width_)),
      side_by_side_(lie_side_by_side(x, how.columns)) {
    check_public(x, y, how);
    map_ = row_map(how, how.map);
    after_ = row_map(how, turned(how));
}

double RowMaker::given_sum(std::size_t i) const {
    double sum = 0.0;
    for (const auto column : how_.given) sum += x_(i, column);
    return sum;
}

double RowMaker::root_weight(std::size_t i) const {
    if (!how_.weight) return 1.0;
    // The constant first in max: what is not a number becomes 0.
    const double weight = std::max(0.0, x_(i, *how_.weight) * how_.inverse_weight);
    return std::sqrt(std::min(weight, how_.most_weight));
}

RowPlaces RowMaker::beyond(const RowPlaces& to, std::size_t rows) const {
    return {to.q + rows * stride(), to.y + rows, shrunk() ? nullptr : to.weights + rows,
            shrunk() ? nullptr : to.given + rows};
}

void RowMaker::make(const std::size_t* records, std::size_t count, const RowPlaces& to,
                    Room& room) const {
    constexpr LanesKernel<Make> kernel;
    const Steps steps{*this, room, padded(used())};
    // Where a slope is not finite a cell of 0 would add something: no row beside another.
    const std::size_t most = map_.finite && after_.finite ? kMakeRows : 1;
    for (std::size_t first = 0; first < count; first += most) {
        kernel(steps, records + first, std::min(most, count - first), beyond(to, first));
    }
}

void RowMaker::make_from(std::size_t first, std::size_t count, const RowPlaces& to,
                         Room& room) const {
    std::array<std::size_t, kMakeRows> records{};
    for (std::size_t done = 0; done < count; done += kMakeRows) {
        std::iota(records.begin(), records.end(), first + done);
        make(records.data(), std::min(kMakeRows, count - done), beyond(to, done), room);
    }
}

}  // namespace dpreg
