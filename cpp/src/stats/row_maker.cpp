#include "row_maker.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/stats/row_losses.hpp"

namespace dpreg {
namespace {

/// Is a number other than 0 among these?
DPREG_INLINE bool any_of(const double* values) {
    bool any = false;
    for (std::size_t r = 0; r < kMakeRows; ++r) any = any | (values[r] != 0.0);
    return any;
}

}  // namespace

/// The steps from records to rows, one record a lane.
struct RowMaker::Steps {
    const RowMaker& maker;
    Room& room;

    template <class Lanes>
    DPREG_INLINE static void run(const Steps& steps, const std::size_t* records, std::size_t count,
                                 const RowPlaces& to) {
        steps.make<Lanes>(records, count, to);
    }

    /// Numbers of the records, entry by entry.
    DPREG_INLINE double* z_of(std::size_t entry) const { return room.z.data() + entry * kMakeRows; }
    DPREG_INLINE double* cells_of(std::size_t column) const {
        return room.cells.data() + column * kMakeRows;
    }

    /// Cells within their limits; 0 all of those of a record if one is not finite.  Returns what is
    /// 0 for complete records.
    template <class Lanes>
    DPREG_INLINE Lanes gather(const std::size_t* records, std::size_t count) const {
        std::array<const double*, kMakeRows> rows{};
        for (std::size_t r = 0; r < kMakeRows; ++r) {
            const auto record = static_cast<std::ptrdiff_t>(records[std::min(r, count - 1)]);
            rows[r] = maker.x_.data + record * maker.x_.row_stride;
        }
        Lanes check = Lanes::of(0.0);
        const std::size_t together = maker.adjacent_;
        for (std::size_t j = 0; j < together; j += kPanel) {
            // The last ones overlap those before, rather than what is behind a row.
            gather_panel(rows, std::min(j, together - kPanel), check);
        }
        for (std::size_t j = together; j < maker.used(); ++j) {
            const auto at =
                static_cast<std::ptrdiff_t>(maker.how_.columns[j]) * maker.x_.col_stride;
            std::array<double, kMakeRows> values{};
            const bool response = maker.how_.columns[j] == maker.x_.cols;
            for (std::size_t r = 0; r < kMakeRows; ++r) {
                values[r] = response ? maker.y_[records[std::min(r, count - 1)]] : rows[r][at];
            }
            limit_cells(j, Lanes::load(values.data()), check);
        }
        const Lanes odd = if_zero(check, Lanes::of(0.0), Lanes::of(1.0));
        if (!odd.zero()) {
            for (std::size_t j = 0; j < maker.used(); ++j) {
                if_zero(odd, Lanes::load(cells_of(j)), Lanes::of(0.0)).store(cells_of(j));
            }
        }
        return odd;
    }

    /// Gathers kPanel columns next to one another.
    template <class Lanes>
    DPREG_INLINE void gather_panel(const std::array<const double*, kMakeRows>& rows, std::size_t j,
                                   Lanes& check) const {
        static_assert(kMakeRows == kPanel);
        std::array<Lanes, kPanel> values;
        const std::size_t at = maker.how_.columns[0] + j;
        for (std::size_t r = 0; r < kMakeRows; ++r) values[r] = Lanes::load(rows[r] + at);
        turn_around(values);
        for (std::size_t i = 0; i < kPanel; ++i) limit_cells(j + i, values[i], check);
    }

    template <class Lanes>
    DPREG_INLINE void limit_cells(std::size_t j, const Lanes& values, Lanes& check) const {
        check += values * 0.0;
        if (!maker.limited_) {
            values.store(cells_of(j));
            return;
        }
        // With NaN comes a row of zeros.
        const Lanes low = above(values, Lanes::of(maker.how_.low[j]));
        below(low, Lanes::of(maker.how_.high[j])).store(cells_of(j));
    }

    /// Finds the columns in which a record has a cell other than 0.
    DPREG_INLINE void find_cells() const {
        room.used.resize(maker.used());
        std::size_t count = 0;
        for (std::size_t j = 0; j < maker.used(); ++j) {
            const double* cells = cells_of(j);
            room.used[count] = static_cast<std::uint32_t>(j);
            count += cells[0] != 0.0 || any_of(cells) ? 1 : 0;
        }
        room.used.resize(count);
    }

    /// The images of the records: cells are added in the order of columns.
    template <class Lanes>
    DPREG_INLINE void add_cells(const RowMap& map) const {
        constexpr std::size_t tile = 4;
        static_assert(kPanel % tile == 0);
        for (std::size_t k = 0; k < maker.how_.mapped; k += tile) {
            const double* slopes =
                map.slopes.data() + k / kPanel * kPanel * maker.used() + k % kPanel;
            std::array<Lanes, tile> sum;
            for (std::size_t i = 0; i < tile; ++i) sum[i] = Lanes::of(map.base[k + i]);
            for (const std::uint32_t column : room.used) {
                const auto cell = Lanes::load(cells_of(column));
                const double* slope = slopes + column * kPanel;
                for (std::size_t i = 0; i < tile; ++i) sum[i] += cell * slope[i];
            }
            for (std::size_t i = 0; i < tile; ++i) sum[i].store(z_of(k + i));
        }
    }

    /// The rows of the records without a map.
    template <class Lanes>
    DPREG_INLINE void standardise() const {
        const Standardisation& how = maker.how_;
        if (how.intercept) Lanes::of(1.0).store(z_of(0));
        for (std::size_t j = 0; j < maker.used(); ++j) {
            const Lanes apart = Lanes::load(cells_of(j)) - how.centre[j];
            (apart * how.inverse_scale[j]).store(z_of(j + how.intercept));
        }
    }

    /// What rows are multiplied by: their weight, or less, so that none is longer than the limit;
    /// NaN if one has no length.
    template <class Lanes>
    DPREG_INLINE Lanes shares(const std::size_t* records, std::size_t count) const {
        Lanes square = Lanes::of(0.0);
        for (std::size_t k = 0; k < std::min(kPanel, maker.regressors_); ++k) {
            Lanes part = Lanes::of(0.0);
            for (std::size_t entry = k; entry < maker.regressors_; entry += kPanel) {
                const auto z = Lanes::load(z_of(entry));
                part += z * z;
            }
            square += part;
        }
        const double limit = maker.how_.row_limit;
        const Lanes one = Lanes::of(1.0);
        if (!maker.how_.weight && if_above(square, maker.short_square_, one, square * 0.0).zero()) {
            return one;
        }
        const Lanes norm = root(square);
        const Lanes weight = weights<Lanes>(records, count);
        return if_above(norm * weight, limit, limit / norm, weight) + norm * 0.0;
    }

    /// What the rows of the records are multiplied by for their weights.
    template <class Lanes>
    DPREG_INLINE Lanes weights(const std::size_t* records, std::size_t count) const {
        if (!maker.how_.weight) return Lanes::of(1.0);
        std::array<double, kMakeRows> roots{};
        for (std::size_t r = 0; r < count; ++r) roots[r] = maker.root_weight(records[r]);
        return Lanes::load(roots.data());
    }

    /// Rounds the shortened rows.  Returns the squares of their norms, and adds to `lost` what
    /// rounding takes off their products with the aim.
    template <class Lanes>
    DPREG_INLINE Lanes quantise(const Lanes& share, const Lanes& response, Lanes& lost) const {
        constexpr double most = kRowSteps;
        const double limit = maker.how_.response_limit;
        const double unit = maker.limit_ / kRowSteps;
        const double* aim = maker.how_.aim.empty() ? nullptr : maker.how_.aim.data();
        Lanes squares = Lanes::of(0.0);
        for (std::size_t k = 0; k < maker.width_; ++k) {
            // What is not a number becomes the least.
            const Lanes z = k < maker.regressors_ ? Lanes::load(z_of(k)) * share
                                                  : clipped(share * response, -limit, limit);
            const Lanes step = nearest(clipped(z * maker.steps_per_unit_, -most, most));
            step.store(room.steps.data() + k * kMakeRows);
            squares += step * step;
            if (aim != nullptr) lost += (z - step * unit) * aim[k];
        }
        return squares;
    }

    /// Writes steps row by row.
    DPREG_INLINE void write(std::size_t count, std::int16_t* q) const {
        const std::size_t stride = maker.stride();
        for (std::size_t k = 0; k < stride; k += kPanel) {
            std::array<VectorOf<std::int16_t, 2 * kPanel>, kPanel> part;
            std::memcpy(part.data(), room.steps.data() + k * kMakeRows, sizeof part);
            turn_around(part);
            for (std::size_t r = 0; r < count; ++r) {
                std::memcpy(q + r * stride + k, &part[r], sizeof part[r]);
            }
        }
    }

    template <class Lanes>
    DPREG_INLINE void make(const std::size_t* records, std::size_t count,
                           const RowPlaces& to) const {
        const Standardisation& how = maker.how_;
        const Lanes odd = gather<Lanes>(records, count);
        if (how.mapped > 0) {
            find_cells();
            add_cells<Lanes>(maker.map_);
        } else {
            standardise<Lanes>();
        }
        const Lanes share = shares<Lanes>(records, count);
        std::array<double, kMakeRows> values{};
        for (std::size_t r = 0; r < count; ++r) values[r] = maker.y_[records[r]];
        const Lanes response = (Lanes::load(values.data()) - how.y_centre) * how.y_inverse_scale;
        Lanes lost = Lanes::of(0.0);
        const Lanes squares = quantise<Lanes>(share, response, lost);
        write(count, to.q);
        const Lanes check = odd + (share + response + lost) * 0.0;
        const Lanes most = Lanes::of(maker.most_square_);
        const bool all = if_above(squares, maker.most_square_, most, check).zero();
        if (all && count == kMakeRows && maker.shrunk()) {
            (share * response - lost).store(to.y);
            return;
        }
        for (std::size_t r = 0; r < count; ++r) {
            finish(r, records[r], {odd[r] == 0.0, share[r], response[r], lost[r], squares[r]}, to);
        }
    }

    /// A record of which is known whether it has all its cells, what its row was multiplied by, its
    /// response, what rounding takes off its product with the aim, and the square of its norm.
    struct Made {
        bool complete;
        double share, response, lost, square;
    };

    /// Writes what there is beside the row of a record, the r-th; a row of zeros if need be.
    DPREG_INLINE void finish(std::size_t r, std::size_t record, const Made& made,
                             const RowPlaces& to) const {
        const double apart = std::isfinite(made.lost) ? made.lost : 0.0;
        const bool usable = made.complete && std::isfinite(made.share) &&
                            std::isfinite(made.response) && made.square <= maker.most_square_;
        to.y[r] = usable ? made.share * made.response - apart : 0.0;
        if (!usable) {
            std::int16_t* q = to.q + r * maker.stride();
            std::fill(q, q + maker.stride(), std::int16_t{0});
        }
        if (maker.shrunk()) return;
        const Loss& loss = maker.how_.loss;
        const bool counts = made.complete && made.share > 0.0;
        to.weights[r] = counts ? made.share : 1.0;
        to.given[r] = counts ? maker.given_sum(record) : 0.0;
        if (counts && usable) to.given[r] += apart / made.share;
        if (counts) {
            to.y[r] = std::min(std::max(loss.least_response, made.response), loss.most_response);
        }
    }
};

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
      short_square_((1 - 0x1p-40) * how.row_limit * how.row_limit) {
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
    constexpr LanesKernel<Steps> kernel;
    const Steps steps{*this, room};
    // Where a slope is not finite a cell of 0 would add something: no row beside another.
    const std::size_t most = map_.finite ? kMakeRows : 1;
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
