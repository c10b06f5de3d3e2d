// Conversion of a few records to rows, one per lane.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "row_maker.hpp"

namespace dpreg {

/// The steps from records to rows, one record a lane.
struct RowMaker::Steps {
    const RowMaker& maker;
    const RowPlaces& to;
    Room& room;

    template <class Lanes>
    DPREG_INLINE static void run(const Steps& steps, const std::size_t* records, std::size_t count,
                                 std::size_t at) {
        steps.make<Lanes>(records, count, at);
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
        for (std::size_t from = 0; from < together; from += Lanes::kSize) {
            // The last ones overlap those before, rather than what is behind a row.
            const std::size_t j = std::min(from, together - Lanes::kSize);
            const auto columns = columns_of<Lanes>(rows, maker.how_.columns[0] + j);
            for (std::size_t i = 0; i < columns.size(); ++i) limit_cells(j + i, columns[i], check);
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
    template <class Lanes>
    DPREG_INLINE void find_cells() const {
        room.used.resize(maker.used());
        std::size_t count = 0;
        for (std::size_t j = 0; j < maker.used(); ++j) {
            const auto cells = Lanes::load(cells_of(j));
            room.used[count] = static_cast<std::uint32_t>(j);
            count += if_zero(cells, Lanes::of(0.0), Lanes::of(1.0)).zero() ? 0 : 1;
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
        const Standardisation& how = maker.how_;
        if (!how.weight) return Lanes::of(1.0);
        std::array<double, kMakeRows> values{};
        for (std::size_t r = 0; r < count; ++r) values[r] = maker.x_(records[r], *how.weight);
        // NaN becomes 0.
        const Lanes products = Lanes::load(values.data()) * how.inverse_weight;
        return root(clipped(products, 0.0, how.most_weight));
    }

    /// Rounds the shortened rows.  Returns the squares of their norms, and adds to `lost` what
    /// rounding takes off their products with the aim.
    template <class Lanes>
    DPREG_INLINE Lanes quantise(const Lanes& share, const Lanes& response, Lanes& lost) const {
        const double most = maker.most_steps_;
        const double limit = maker.how_.response_limit;
        const double unit = maker.limit_ / kRowSteps;
        const double* aim = maker.how_.aim.empty() ? nullptr : maker.how_.aim.data();
        Lanes squares = Lanes::of(0.0);
        for (std::size_t k = 0; k < maker.width_; ++k) {
            // NaN becomes the least.
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
    DPREG_INLINE void make(const std::size_t* records, std::size_t count, std::size_t at) const {
        const Standardisation& how = maker.how_;
        const Lanes odd = gather<Lanes>(records, count);
        if (how.mapped > 0) {
            find_cells<Lanes>();
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
        write(count, to.q + at * maker.stride());
        for (std::size_t r = 0; r < count; ++r) {
            finish(records[r], {odd[r] == 0.0, share[r], response[r], lost[r], squares[r]}, at + r);
        }
    }

    /// A record of which is known whether it has all its cells, what its row was multiplied by, its
    /// response, what rounding takes off its product with the aim, and the square of its norm.
    struct Made {
        bool complete;
        double share, response, lost, square;
    };

    /// Writes what there is beside the row of a record, at `i`; a row of zeros if need be.
    DPREG_INLINE void finish(std::size_t record, const Made& made, std::size_t i) const {
        const double apart = std::isfinite(made.lost) ? made.lost : 0.0;
        const bool usable = made.complete && std::isfinite(made.share) &&
                            std::isfinite(made.response) && made.square <= maker.most_square_;
        to.y[i] = usable ? made.share * made.response - apart : 0.0;
        if (!usable) std::fill_n(to.q + i * maker.stride(), maker.stride(), std::int16_t{0});
        if (maker.shrunk()) return;
        to.weights[i] = 1.0;
        to.given[i] = 0.0;
        if (!made.complete || !(made.share > 0.0)) return;
        const Loss& loss = maker.how_.loss;
        to.y[i] = std::min(std::max(loss.least_response, made.response), loss.most_response);
        to.weights[i] = made.share;
        for (const auto column : maker.how_.given) to.given[i] += maker.x_(record, column);
        if (usable) to.given[i] += apart / made.share;
    }
};

}  // namespace dpreg
