#include "dpreg/stats/column_counts.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"
#include "dpreg/stats/sum_over_rows.hpp"

namespace dpreg {
namespace {

/// The k of the magnitude bin of a finite x other than 0.
std::size_t magnitude_bin(double x) {
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(x), &exponent);
    if (mantissa == 0.5) --exponent;  // powers of two belong to the bin they end
    return static_cast<std::size_t>(std::clamp(exponent, kLeastExponent, kLargestExponent) -
                                    kLeastExponent);
}

// Bins have places in 32 bits.
constexpr std::size_t kMostBins = std::size_t{1} << 30;
// Rows that are looked at together: in the first-level cache, and few enough for sums of their
// moments to be exact in doubles.
constexpr std::size_t kBlockRows = 64;

/// What belongs to each column in lanes: of a single column all lanes hold cells.
std::vector<double> in_lanes(const std::vector<double>& values) {
    std::vector<double> result(values);
    result.resize(padded(values.size()), values.size() == 1 ? values[0] : 1.0);
    return result;
}

/// The sums of the columns, `size` each, from those of the lanes.
std::vector<std::int64_t> of_columns(const std::vector<std::int64_t>& lanes, std::size_t columns,
                                     std::size_t size) {
    std::vector<std::int64_t> result(columns * size, 0);
    const std::size_t used = columns == 1 ? kPanel : columns;
    for (std::size_t k = 0; k < used * size; ++k) {
        result[columns == 1 ? k % size : k] += lanes[k];
    }
    return result;
}

/// Adds up what `add(rows, count, totals)` adds for blocks of rows, which are next to one another
/// in memory and filled up with NaN to whole lanes.
template <class Add>
std::vector<std::int64_t> sum_over_blocks(const MatrixView& x, std::size_t size,
                                          std::size_t threads, const Add& add) {
    const std::size_t width = padded(x.cols);
    const bool single = x.cols == 1;
    const std::size_t lines = single ? (x.rows + kPanel - 1) / kPanel : x.rows;
    const std::size_t used = single ? kPanel : x.cols;
    std::vector<std::int64_t> result(size, 0);
    std::mutex guard;
    parallel_ranges(lines, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> own(size, 0);
        std::vector<double> rows(kBlockRows * width, std::nan(""));
        const auto cell = [&](std::size_t line, std::size_t j) {
            if (!single) return x(line, j);
            const std::size_t record = line * kPanel + j;
            return record < x.rows ? x(record, 0) : std::nan("");
        };
        for (std::size_t first = begin; first < end; first += kBlockRows) {
            const std::size_t count = std::min(kBlockRows, end - first);
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j < used; ++j) rows[i * width + j] = cell(first + i, j);
            }
            add(rows.data(), count, own);
        }
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t k = 0; k < size; ++k) result[k] += own[k];
    });
    return result;
}

/// Equal bins of each column, padded.
struct Bins {
    std::vector<double> low;
    std::vector<double> per_unit;
    std::size_t bins;
};

/// The bin of each cell; after the last, those of 0 and of what is not finite.
struct FindBins {
    template <class Lanes>
    DPREG_INLINE static void run(const double* rows, std::size_t count, const Bins& each,
                                 std::int32_t* places) {
        const std::size_t width = each.low.size();
        const auto zeros = Lanes::of(static_cast<double>(each.bins));
        const auto odd = Lanes::of(static_cast<double>(each.bins + 1));
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < width; j += kPanel) {
                const auto value = Lanes::load(rows + i * width + j);
                const Lanes place =
                    (value - Lanes::load(&each.low[j])) * Lanes::load(&each.per_unit[j]);
                // A product that is not a number becomes 0.
                const Lanes bin = clipped(place, 0.0, static_cast<double>(each.bins - 1));
                if_zero(value * 0.0, if_zero(value, zeros, bin), odd).store(places);
                places += kPanel;
            }
        }
    }
};
constexpr LanesKernel<FindBins> bins_kernel;

/// Counts of each column without the last of its cells.
std::vector<std::int64_t> each_without_last(const std::vector<std::int64_t>& counts,
                                            std::size_t columns, std::size_t cells) {
    std::vector<std::int64_t> result;
    result.reserve(columns * (cells - 1));
    for (std::size_t j = 0; j < columns; ++j) {
        const auto first = counts.begin() + static_cast<std::ptrdiff_t>(j * cells);
        result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(cells - 1));
    }
    return result;
}

/// Limits of columns, padded.
struct Halves {
    std::vector<double> middle;
    std::vector<double> half;
};

/// Adds what cells add to the sums of columns, and then to those of squares.
struct AddMoments {
    template <class Lanes>
    DPREG_INLINE static void run(const double* rows, std::size_t count, const Halves& halves,
                                 double* sums) {
        constexpr double steps = 1 << kMomentBits;
        const std::size_t width = halves.middle.size();
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < width; j += kPanel) {
                const auto value = Lanes::load(rows + i * width + j);
                const Lanes place =
                    (value - Lanes::load(&halves.middle[j])) / Lanes::load(&halves.half[j]);
                // A quotient that is not a number becomes -1; a cell that is not finite adds 0.
                const Lanes part = clipped(place, -1.0, 1.0);
                const Lanes u = if_zero(value * 0.0, part, Lanes::of(0.0));
                (Lanes::load(sums + j) + nearest(u * steps)).store(sums + j);
                (Lanes::load(sums + width + j) + nearest(u * u * steps)).store(sums + width + j);
            }
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

std::vector<std::int64_t> magnitude_counts(const MatrixView& x, std::size_t threads) {
    return sum_over_rows(x.rows, x.cols * kMagnitudeBins, threads,
                         [&](std::size_t i, std::int64_t* counts) {
                             for (std::size_t j = 0; j < x.cols; ++j) {
                                 const double value = x(i, j);
                                 if (value == 0.0 || !std::isfinite(value)) continue;
                                 ++counts[j * kMagnitudeBins + magnitude_bin(value)];
                             }
                         });
}

std::vector<std::int64_t> interval_counts(const MatrixView& x, const std::vector<double>& low,
                                          const std::vector<double>& high, std::size_t bins,
                                          std::size_t threads) {
    require(low.size() == x.cols && high.size() == x.cols && bins >= 1 && bins <= kMostBins,
            "low and high must have one entry a column, and there must be bins");
    std::vector<double> per_unit(x.cols);
    for (std::size_t j = 0; j < x.cols; ++j) {
        require(low[j] < high[j], "low must be below high");
        per_unit[j] = static_cast<double>(bins) / (high[j] - low[j]);
    }
    const Bins each{in_lanes(low), in_lanes(per_unit), bins};
    const std::size_t width = padded(x.cols);
    const std::size_t cells = bins + 2;
    const auto counts = sum_over_blocks(
        x, width * cells, threads, [&](const double* rows, std::size_t count, auto& totals) {
            std::vector<std::int32_t> places(count * width);
            bins_kernel(rows, count, each, places.data());
            const std::int32_t* place = places.data();
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j < width; ++j, ++place) {
                    ++totals[j * cells + static_cast<std::size_t>(*place)];
                }
            }
        });
    return each_without_last(of_columns(counts, x.cols, cells), x.cols, cells);
}

double moments_sensitivity(const std::vector<double>& weights) {
    // One row adds 1 and, for each column, two numbers of size at most 1.
    return std::ldexp(std::sqrt(1.0 + 2.0 * sum_of_squares(weights)), kMomentBits);
}

std::vector<std::int64_t> moment_sums(const MatrixView& x, const std::vector<double>& middle,
                                      const std::vector<double>& half, std::size_t threads) {
    require(middle.size() == x.cols && half.size() == x.cols,
            "middle and half must have one entry a column");
    const std::size_t width = padded(x.cols);
    const Halves halves{in_lanes(middle), in_lanes(half)};
    const auto sums = sum_over_blocks(x, 2 * width, threads,
                                      [&](const double* rows, std::size_t count, auto& totals) {
                                          std::vector<double> own(2 * width, 0.0);
                                          moments_kernel(rows, count, halves, own.data());
                                          for (std::size_t k = 0; k < 2 * width; ++k) {
                                              totals[k] += static_cast<std::int64_t>(own[k]);
                                          }
                                      });
    std::vector<std::int64_t> result(1 + 2 * x.cols);
    result[0] = static_cast<std::int64_t>(x.rows) << kMomentBits;
    const std::size_t used = x.cols == 1 ? width : x.cols;
    for (std::size_t j = 0; j < used; ++j) {
        const std::size_t column = x.cols == 1 ? 0 : j;
        result[1 + column] += sums[j];
        result[1 + x.cols + column] += sums[width + j];
    }
    return result;
}

}  // namespace dpreg
