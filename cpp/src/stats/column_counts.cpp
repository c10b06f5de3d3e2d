#include "dpreg/stats/column_counts.hpp"

#include <algorithm>
#include <array>
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
// Cells of a block of rows, in the first-level cache, and rows of wide ones.
constexpr std::size_t kBlockCells = 2048, kLeastRows = 64;

/// Adds up what `add(cells, count, j, totals)` adds for some cells of column j, which are next to
/// one another and filled up with NaN to whole lanes, few enough for sums of their moments to be
/// exact in doubles.
template <class Add>
std::vector<std::int64_t> sum_over_blocks(const MatrixView& x, std::size_t size, const Add& add) {
    const std::size_t rows =
        padded(std::max(kBlockCells / std::max<std::size_t>(x.cols, 1), kLeastRows));
    return sum_over_rows(x.rows, size, [&](std::size_t begin, std::size_t end, auto& own) {
        std::vector<double> room(rows, std::nan(""));
        for (std::size_t first = begin; first < end; first += rows) {
            const std::size_t count = std::min(rows, end - first);
            if (count < rows) std::fill(room.begin(), room.end(), std::nan(""));
            for (std::size_t j = 0; j < x.cols; ++j) {
                for (std::size_t i = 0; i < count; ++i) room[i] = x(first + i, j);
                add(room.data(), padded(count), j, own);
            }
        }
    });
}

/// As that, for the number of cells at each of `size` places of a column: `find(cells, count, j,
/// places)` says where, and cells beyond are not counted.
template <class Find>
std::vector<std::int64_t> count_places(const MatrixView& x, std::size_t size, const Find& find) {
    return sum_over_blocks(
        x, x.cols * size, [&](const double* cells, std::size_t count, std::size_t j, auto& totals) {
            std::array<std::int32_t, kBlockCells> places;
            find(cells, count, j, places.data());
            for (std::size_t i = 0; i < count; ++i) {
                const auto place = static_cast<std::size_t>(places[i]);
                if (place < size) ++totals[j * size + place];
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

/// The place of the bin of each cell; after the last bin, those of 0 and of what is not finite.
struct FindBins {
    template <class Lanes>
    DPREG_INLINE static void run(const double* cells, std::size_t count, double low,
                                 double per_unit, double bins, std::int32_t* places) {
        const auto zeros = Lanes::of(bins), odd = Lanes::of(bins + 1);
        for (std::size_t k = 0; k < count; k += kPanel) {
            const auto value = Lanes::load(cells + k);
            // A NaN product becomes 0.
            const Lanes bin = truncated(clipped((value - low) * per_unit, 0.0, bins - 1));
            if_zero(value * 0.0, if_zero(value, zeros, bin), odd).store(places + k);
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

/// The sum of some cells, and of their squares.
struct AddMoments {
    template <class Lanes>
    DPREG_INLINE static void run(const double* cells, std::size_t count, double middle, double half,
                                 std::int64_t* sum_of, std::int64_t* squares_of) {
        constexpr double steps = 1 << kMomentBits;
        Lanes sum = Lanes::of(0.0);
        Lanes squares = Lanes::of(0.0);
        for (std::size_t k = 0; k < count; k += kPanel) {
            const auto value = Lanes::load(cells + k);
            // A NaN quotient becomes -1; a cell that is not finite adds 0.
            const Lanes part = clipped((value - middle) / half, -1.0, 1.0);
            const Lanes u = if_zero(value * 0.0, part, Lanes::of(0.0));
            sum += nearest(u * steps);
            squares += nearest(u * u * steps);
        }
        *sum_of += static_cast<std::int64_t>(sum.sum());
        *squares_of += static_cast<std::int64_t>(squares.sum());
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
    return count_places(x, kMagnitudeCells,
                        [](const double* cells, std::size_t count, std::size_t,
                           std::int32_t* places) { magnitudes_kernel(cells, count, places); });
}

std::vector<std::int64_t> interval_counts(const MatrixView& x, const std::vector<double>& low,
                                          const std::vector<double>& high, std::size_t bins) {
    require(low.size() == x.cols && high.size() == x.cols && bins >= 1,
            "low and high must have one entry a column, and there must be bins");
    require(bins + 2 <= kMostPlaces, "there must not be so many bins");
    for (std::size_t j = 0; j < x.cols; ++j) require(low[j] < high[j], "low must be below high");
    return count_places(
        x, bins + 1,
        [&](const double* cells, std::size_t count, std::size_t j, std::int32_t* places) {
            const auto parts = static_cast<double>(bins);
            bins_kernel(cells, count, low[j], parts / (high[j] - low[j]), parts, places);
        });
}

double moments_sensitivity(const std::vector<double>& weights) {
    // One row adds 1 and, for each column, two numbers of size at most 1.
    return std::ldexp(std::sqrt(1.0 + 2.0 * sum_of_squares(weights)), kMomentBits);
}

std::vector<std::int64_t> moment_sums(const MatrixView& x, const std::vector<double>& middle,
                                      const std::vector<double>& half) {
    require(middle.size() == x.cols && half.size() == x.cols,
            "middle and half must have one entry a column");
    auto result =
        sum_over_blocks(x, 1 + 2 * x.cols,
                        [&](const double* cells, std::size_t count, std::size_t j, auto& totals) {
                            moments_kernel(cells, count, middle[j], half[j], &totals[1 + j],
                                           &totals[1 + x.cols + j]);
                        });
    result[0] = static_cast<std::int64_t>(x.rows) << kMomentBits;
    return result;
}

}  // namespace dpreg
