// Products of rows with coefficients.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "short_registers.hpp"
#include "short_rows.hpp"

namespace dpreg {
namespace {

/// Steps of the low part of a coefficient; a step of the high part is as many.
constexpr int kLowBits = 12;
constexpr double kLowSteps = 1 << kLowBits;
constexpr int kThetaBits = 26;
// The low part of theta is at most 2^11 an entry: so many columns times a row stay below 2^31.
constexpr std::size_t kDotColumns = 2048;
// Rows of no more entries are turned so that each has a lane; longer ones are added up by
// themselves.
constexpr std::size_t kShortStride = 32;
// Rows whose dots are taken together, and the sums of each: with both parts of theta, and itself.
constexpr std::size_t kDotRows = 4;
constexpr std::size_t kDotSums = 3;

using FourInts = VectorOf<std::int32_t, 16>;
using FourDoubles = VectorOf<double, 32>;

/// Writes dots and squares of four rows from sums of their entries.
DPREG_INLINE void write_dots(const FourDoubles* sums, double* found, double* squares) {
    const FourDoubles both = sums[0] * kLowSteps + sums[1];
    std::memcpy(found, &both, sizeof both);
    std::memcpy(squares, &sums[2], sizeof sums[2]);
}

/// Dots of short rows, one row a lane.
struct DotsOfShort {
    template <class Register>
    DPREG_INLINE static void run(const std::int16_t* q, std::size_t stride, std::size_t rows,
                                 const std::int16_t* high, const std::int16_t* low, double* found,
                                 double* squares) {
        using Ints = typename Register::Ints;
        for (std::size_t first = 0; first < rows; first += Register::kInts) {
            const std::int16_t* at[Register::kInts];
            for (std::size_t i = 0; i < Register::kInts; ++i) {
                at[i] = q + std::min(first + i, rows - 1) * stride;
            }
            Ints sums[kDotSums] = {};
            for (std::size_t j = 0; j < stride; j += kPanel) {
                Ints loaded[4];
                for (std::size_t i = 0; i < 4; ++i) {
                    loaded[i] = Register::joined([&](std::size_t part) DPREG_INLINE_LAMBDA {
                        return Narrow::load(at[4 * part + i] + j);
                    });
                }
                Ints pairs[4];
                Register::turn(loaded, pairs);
                for (std::size_t k = 0; k < 4; ++k) {
                    const std::size_t entry = j + 2 * k;
                    Register::add_products(sums[0], pairs[k],
                                           Register::fill(pair_at(high + entry)));
                    Register::add_products(sums[1], pairs[k], Register::fill(pair_at(low + entry)));
                    Register::add_products(sums[2], pairs[k], pairs[k]);
                }
            }
            // There is room for kShortRows.
            for (std::size_t i = 0; i < Register::kInts; i += 4) {
                FourDoubles totals[kDotSums];
                for (std::size_t k = 0; k < kDotSums; ++k) {
                    FourInts four;
                    std::memcpy(&four, reinterpret_cast<const char*>(&sums[k]) + 4 * i,
                                sizeof four);
                    totals[k] = __builtin_convertvector(four, FourDoubles);
                }
                write_dots(totals, found + first + i, squares + first + i);
            }
        }
    }
};

/// Adds to `totals` what some columns of kDotRows rows add to `sums`, and these.
template <class Register>
DPREG_INLINE void add_dots(const std::int16_t* const* q, const std::int16_t* high,
                           const std::int16_t* low, std::size_t from, std::size_t size,
                           const typename Register::Ints (&before)[kDotSums][kDotRows],
                           FourDoubles* totals) {
    using Ints = typename Register::Ints;
    Ints sums[kDotSums][kDotRows];
    for (std::size_t k = 0; k < kDotSums; ++k) {
        for (std::size_t i = 0; i < kDotRows; ++i) sums[k][i] = before[k][i];
    }
    for (; from + Register::kShorts <= size; from += Register::kShorts) {
        const Ints upper = Register::load(high + from);
        const Ints lower = Register::load(low + from);
        for (std::size_t i = 0; i < kDotRows; ++i) {
            const Ints row = Register::load(q[i] + from);
            Register::add_products(sums[0][i], row, upper);
            Register::add_products(sums[1][i], row, lower);
            Register::add_products(sums[2][i], row, row);
        }
    }
    if constexpr (Register::kBytes > 16) {
        typename Register::Narrower::Ints rest[kDotSums][kDotRows];
        for (std::size_t k = 0; k < kDotSums; ++k) {
            for (std::size_t i = 0; i < kDotRows; ++i) rest[k][i] = Register::folded(sums[k][i]);
        }
        add_dots<typename Register::Narrower>(q, high, low, from, size, rest, totals);
    } else {
        for (std::size_t k = 0; k < kDotSums; ++k) {
            Ints lanes[4];
            Register::turn(sums[k], lanes);
            const Ints sum = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
            totals[k] += __builtin_convertvector(reinterpret_cast<FourInts>(sum), FourDoubles);
        }
    }
}

struct Dots {
    template <class Register>
    DPREG_INLINE static void run(const std::int16_t* q, std::size_t stride, std::size_t rows,
                                 const std::int16_t* high, const std::int16_t* low, double* found,
                                 double* squares) {
        for (std::size_t first = 0; first < rows; first += kDotRows) {
            const std::int16_t* at[kDotRows];
            for (std::size_t i = 0; i < kDotRows; ++i) {
                at[i] = q + std::min(first + i, rows - 1) * stride;
            }
            FourDoubles totals[kDotSums] = {};
            for (std::size_t from = 0; from < stride; from += kDotColumns) {
                add_dots<Register>(at, high, low, from, std::min(stride, from + kDotColumns), {},
                                   totals);
            }
            // There is room for kShortRows.
            write_dots(totals, found + first, squares + first);
        }
    }
};

}  // namespace

ShortTheta short_theta(const std::vector<double>& theta, std::size_t stride) {
    double square = 0.0;
    for (const double value : theta) square += value * value;
    ShortTheta result{Shorts(stride, 0), Shorts(stride, 0), std::nan("")};
    if (!std::isfinite(square)) return result;
    int exponent = 0;
    std::frexp(std::sqrt(square), &exponent);
    for (std::size_t j = 0; j < theta.size(); ++j) {
        const auto steps = std::llrint(std::ldexp(theta[j], kThetaBits - exponent));
        const auto high = (steps + (1 << (kLowBits - 1))) >> kLowBits;
        result.high[j] = static_cast<std::int16_t>(high);
        result.low[j] = static_cast<std::int16_t>(steps - high * (1 << kLowBits));
    }
    result.step = std::ldexp(1.0, exponent - kThetaBits);
    return result;
}

void short_dots(const std::int16_t* q, std::size_t stride, std::size_t rows,
                const ShortTheta& theta, double* dots, double* squares) {
    constexpr ShortKernel<DotsOfShort> short_kernel;
    constexpr ShortKernel<Dots> kernel;
    if (stride <= kShortStride) {
        short_kernel(q, stride, rows, theta.high.data(), theta.low.data(), dots, squares);
        return;
    }
    kernel(q, stride, rows, theta.high.data(), theta.low.data(), dots, squares);
}

}  // namespace dpreg
