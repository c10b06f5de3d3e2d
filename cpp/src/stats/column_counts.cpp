#include "dpreg/stats/column_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

// Places of bins have 32 bits.
constexpr std::size_t kMostPlaces = std::size_t{1} << 30;
// Cells that are looked at together: in the first-level cache, and few enough for sums of their
// moments to be exact in doubles.
constexpr std::size_t kBlockCells = 2048;

// Cells of a row follow one another; where it would take more lanes than these until the same
// columns come again, rows are filled up to whole lanes.
constexpr std::size_t kMostLanes = 512;

/// Cells of a row of so many columns.
std::size_t row_length(std::size_t columns) {
    return std::lcm(columns, kPanel) <= kMostLanes ? columns : padded(columns);
}

/// What belongs to each column, lane by lane; 1 where there is no column.
std::vector<double> in_lanes(const std::vector<double>& values) {
    const std::size_t length = row_length(values.size());
    std::vector<double> result(std::lcm(length, kPanel), 1.0);
    for (std::size_t k = 0; k < result.size(); ++k) {
        if (k % length < values.size()) result[k] = values[k % length];
    }
    return result;
}

/// The sums of the columns, `used` of `size` each, from those of the lanes.
std::vector<std::int64_t> of_columns(const std::vector<std::int64_t>& lanes, std::size_t columns,
                                     std::size_t size, std::size_t used) {
    std::vector<std::int64_t> result(columns * used, 0);
    for (std::size_t k = 0; k < lanes.size() / size; ++k) {
        const std::size_t column = k % row_length(columns);
        for (std::size_t c = 0; c < used && column < columns; ++c) {
            result[column * used + c] += lanes[k * size + c];
        }
    }
    return result;
}

/// Adds up what `add(cells, rows, totals)` adds for blocks of rows, whose cells lie row after row
/// in memory, filled up with NaN to whole lanes.
template <class Add>
std::vector<std::int64_t> sum_over_blocks(const MatrixView& x, std::size_t size, const Add& add) {
    const std::size_t length = row_length(x.cols);
    const bool dense = length == x.cols && x.col_stride == 1 &&
                       x.row_stride == static_cast<std::ptrdiff_t>(x.cols);
    const std::size_t rows = padded(kBlockCells / std::max<std::size_t>(length, 1) + 1);
    return sum_over_rows(x.rows, size, [&](std::size_t begin, std::size_t end, auto& own) {
        std::vector<double> room(rows * length);
        for (std::size_t first = begin; first < end; first += rows) {
            const std::size_t count = std::min(rows, end - first);
            if (dense && count == rows) {
                add(x.data + first * x.cols, count, own);
                continue;
            }
            std::fill(room.begin(), room.end(), std::nan(""));
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j < x.cols; ++j) room[i * length + j] = x(first + i, j);
            }
            add(room.data(), count, own);
        }
    });
}

/// The magnitude cell of each value; after the last, that of what is not finite.
struct FindMagnitudes {
    template <class Lanes>
    DPREG_INLINE static void run(const double* cells, std::size_t count, std::int32_t* places) {
        constexpr std::uint64_t infinite = std::uint64_t{2047} << 52;
        constexpr int least = 1022 + kLeastExponent;
        constexpr int largest = 1022 + kLargestExponent;
        for (std::size_t k = 0; k < count; ++k) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, cells + k, sizeof bits);
            const bool negative = bits >> 63 != 0;
            // The one before: powers of two belong to the bin they end.  That of 0 is the largest.
            bits = (bits & (infinite | (infinite - 1))) - 1;
            const int exponent = static_cast<int>(bits >> 52);
            const int away = std::min(std::max(exponent, least), largest) - least + 1;
            const int zero = static_cast<int>(kMagnitudeBins);
            const int finite = negative ? zero - away : zero + away;
            const int other = bits == ~std::uint64_t{0} ? zero : static_cast<int>(kMagnitudeCells);
            places[k] = bits < infinite - 1 ? finite : other;
        }
    }
};
constexpr LanesKernel<FindMagnitudes> magnitudes_kernel;

/// Equal bins, in lanes.
struct Bins {
    std::vector<double> low;
    std::vector<double> per_unit;
    std::vector<double> first;  ///< place of the first bin
    std::size_t bins;
};

/// The place of the bin of each cell; after the last bin, those of 0 and of what is not finite.
struct FindBins {
    template <class Lanes>
    DPREG_INLINE static void run(const double* cells, std::size_t count, const Bins& each,
                                 std::int32_t* places) {
        const std::size_t width = each.low.size();
        const auto zeros = Lanes::of(static_cast<double>(each.bins));
        const auto odd = Lanes::of(static_cast<double>(each.bins + 1));
        for (std::size_t j = 0; j < width; j += kPanel) {
            const auto low = Lanes::load(&each.low[j]);
            const auto per_unit = Lanes::load(&each.per_unit[j]);
            const auto first = Lanes::load(&each.first[j]);
            for (std::size_t k = j; k < count; k += width) {
                const auto value = Lanes::load(cells + k);
                // A product that is not a number becomes 0.
                const Lanes bin = truncated(
                    clipped((value - low) * per_unit, 0.0, static_cast<double>(each.bins - 1)));
                (first + if_zero(value * 0.0, if_zero(value, zeros, bin), odd)).store(places + k);
            }
        }
    }

    /// Towards 0, of what has places in 32 bits.
    template <class Lanes>
    DPREG_INLINE static Lanes truncated(const Lanes& x) {
        const Lanes whole = nearest(x);
        return whole - if_zero(above(whole - x, Lanes::of(0.0)), Lanes::of(0.0), Lanes::of(1.0));
    }
};
constexpr LanesKernel<FindBins> bins_kernel;

/// Limits, in lanes.
struct Halves {
    std::vector<double> middle;
    std::vector<double> half;
};

/// What cells add to the sums of lanes, and then to those of squares.
struct AddMoments {
    template <class Lanes>
    DPREG_INLINE static void run(const double* cells, std::size_t count, const Halves& halves,
                                 double* sums) {
        constexpr double steps = 1 << kMomentBits;
        const std::size_t width = halves.middle.size();
        for (std::size_t j = 0; j < width; j += kPanel) {
            const auto middle = Lanes::load(&halves.middle[j]);
            const auto half = Lanes::load(&halves.half[j]);
            Lanes sum = Lanes::of(0.0);
            Lanes squares = Lanes::of(0.0);
            for (std::size_t k = j; k < count; k += width) {
                const auto value = Lanes::load(cells + k);
                // A quotient that is not a number becomes -1; a cell that is not finite adds 0.
                const Lanes part = clipped((value - middle) / half, -1.0, 1.0);
                const Lanes u = if_zero(value * 0.0, part, Lanes::of(0.0));
                sum += nearest(u * steps);
                squares += nearest(u * u * steps);
            }
            sum.store(sums + j);
            squares.store(sums + width + j);
        }
    }
};
constexpr LanesKernel<AddMoments> moments_kernel;

double sum_of_squares(const std::vector<double>& weights) {
    return std::inner_product(weights.begin(), weights.end(), weights.begin(), 0.0);
}

}  // namespace

double counts_sensitivity(const std::vector<double>& weights) {
    return std::sqrt(sum_of_squares(weights));
}

std::vector<std::int64_t> magnitude_counts(const MatrixView& x) {
    constexpr std::size_t cells = kMagnitudeCells + 1;
    const std::size_t length = row_length(x.cols);
    const auto counts = sum_over_blocks(
        x, length * cells, [&](const double* values, std::size_t rows, auto& totals) {
            std::vector<std::int32_t> places(rows * length);
            magnitudes_kernel(values, places.size(), places.data());
            const std::int32_t* place = places.data();
            for (std::size_t i = 0; i < rows; ++i) {
                for (std::size_t j = 0; j < length; ++j, ++place) {
                    ++totals[j * cells + static_cast<std::size_t>(*place)];
                }
            }
        });
    return of_columns(counts, x.cols, cells, kMagnitudeCells);
}

std::vector<std::int64_t> interval_counts(const MatrixView& x, const std::vector<double>& low,
                                          const std::vector<double>& high, std::size_t bins) {
    require(low.size() == x.cols && high.size() == x.cols && bins >= 1,
            "low and high must have one entry a column, and there must be bins");
    std::vector<double> per_unit(x.cols);
    for (std::size_t j = 0; j < x.cols; ++j) {
        require(low[j] < high[j], "low must be below high");
        per_unit[j] = static_cast<double>(bins) / (high[j] - low[j]);
    }
    const std::size_t cells = bins + 2;
    Bins each{in_lanes(low), in_lanes(per_unit), {}, bins};
    const std::size_t width = each.low.size();
    require(bins <= kMostPlaces && width * cells <= kMostPlaces, "there must not be so many bins");
    each.first.resize(width);
    for (std::size_t k = 0; k < width; ++k) each.first[k] = static_cast<double>(k * cells);
    const auto counts = sum_over_blocks(
        x, width * cells, [&](const double* values, std::size_t rows, auto& totals) {
            std::vector<std::int32_t> places(padded(rows * row_length(x.cols)));
            bins_kernel(values, places.size(), each, places.data());
            for (const std::int32_t place : places) ++totals[static_cast<std::size_t>(place)];
        });
    return of_columns(counts, x.cols, cells, bins + 1);
}

double moments_sensitivity(const std::vector<double>& weights) {
    // One row adds 1 and, for each column, two numbers of size at most 1.
    return std::ldexp(std::sqrt(1.0 + 2.0 * sum_of_squares(weights)), kMomentBits);
}

std::vector<std::int64_t> moment_sums(const MatrixView& x, const std::vector<double>& middle,
                                      const std::vector<double>& half) {
    require(middle.size() == x.cols && half.size() == x.cols,
            "middle and half must have one entry a column");
    const Halves halves{in_lanes(middle), in_lanes(half)};
    const std::size_t width = halves.middle.size();
    const std::size_t length = row_length(x.cols);
    const auto lanes =
        sum_over_blocks(x, 2 * width, [&](const double* values, std::size_t rows, auto& totals) {
            std::vector<double> own(2 * width);
            moments_kernel(values, padded(rows * length), halves, own.data());
            for (std::size_t k = 0; k < own.size(); ++k) {
                totals[k] += static_cast<std::int64_t>(own[k]);
            }
        });
    std::vector<std::int64_t> result(1 + 2 * x.cols);
    result[0] = static_cast<std::int64_t>(x.rows) << kMomentBits;
    for (std::size_t k = 0; k < width; ++k) {
        const std::size_t column = k % length;
        if (column >= x.cols) continue;
        result[1 + column] += lanes[k];
        result[1 + x.cols + column] += lanes[width + k];
    }
    return result;
}

}  // namespace dpreg
