// Shared by sums over quantised rows: residuals and curvatures of rows, in lanes of doubles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "short_rows.hpp"

namespace dpreg {

inline constexpr std::size_t kGramRows = 512;

/// A block of quantised rows and what one round needs of it.
struct Block {
    const std::int16_t* q;
    const double* y;
    std::size_t rows;
    std::size_t stride;
    double row_unit;  ///< of q'theta, so that it becomes w z'theta
    const Loss* loss;
    const double* weights;  ///< w of each row; null with the squared loss
    const double* given;    ///< what is added to z'theta; null with the squared loss
};

/// Sum of v v' over rows v of integers, no longer than row_norm(width), width x width: exact and
/// free of order.  `rows_at(first, count, room)` says where rows are, in `room` if nowhere else,
/// row-major with padding.
template <class RowsAt>
std::vector<std::int64_t> sum_of_products(std::size_t rows, std::size_t width,
                                          const RowsAt& rows_at) {
    const std::size_t stride = padded(width);
    auto result =
        sum_over_rows(rows, width * width, [&](std::size_t begin, std::size_t end, auto& own) {
            Shorts room(kGramRows * stride);
            ShortGram products(stride);
            for (std::size_t first = begin; first < end; first += kGramRows) {
                const std::size_t count = std::min(kGramRows, end - first);
                products.add(rows_at(first, count, room.data()), count);
            }
            products.add_to(own, width);
        });
    for (std::size_t i = 0; i < width; ++i) {
        for (std::size_t j = 0; j < i; ++j) result[i * width + j] = result[j * width + i];
    }
    return result;
}

/// One number for each of some consecutive rows, and for whole lanes of them.
using RowNumbers = std::array<double, kShortRows>;

/// Room for values of some consecutive rows of a block, at most kShortRows.
struct RowTerms {
    RowNumbers dots{}, square{}, y{}, weight{}, given{}, residual{}, curvature{};
};

/// What sums need of whole lanes of rows.
template <class Lanes>
struct LaneTerms {
    Lanes residual;   ///< shrunk like the row
    Lanes square;     ///< |q|^2
    Lanes curvature;  ///< of a row that is not shrunk; 1 with the squared loss
};

/// Residuals, squares and curvatures of `count` rows from `first`, in whole lanes.
void find_terms(const Block& block, const ShortTheta& theta, std::size_t first, std::size_t count,
                RowTerms& rows);

/// Calls fill(i, terms) for whole lanes of `count` rows from `first`, i the first of them.
template <class Lanes, class Fill>
DPREG_INLINE void over_lanes(const Block& block, const ShortTheta& theta, std::size_t first,
                             std::size_t count, RowTerms& rows, const Fill& fill) {
    find_terms(block, theta, first, count, rows);
    for (std::size_t i = 0; i < count; i += kPanel) {
        fill(i, LaneTerms<Lanes>{Lanes::load(&rows.residual[i]), Lanes::load(&rows.square[i]),
                                 Lanes::load(&rows.curvature[i])});
    }
}

/// Goes through the rows of a block, kShortRows at a time: calls fill(i, terms) for whole lanes of
/// them, i the first, and then use(lanes, first, count).
template <class Fill, class Use>
struct OverRows {
    template <class Lanes>
    DPREG_INLINE static void run(const Block& block, const ShortTheta& theta, const Fill& fill,
                                 const Use& use) {
        RowTerms rows;
        for (std::size_t first = 0; first < block.rows; first += kShortRows) {
            const std::size_t count = std::min(kShortRows, block.rows - first);
            over_lanes<Lanes>(block, theta, first, count, rows, fill);
            use(Lanes{}, first, count);
        }
    }
};
template <class Fill, class Use>
void over_rows(const Block& block, const ShortTheta& theta, const Fill& fill, const Use& use) {
    constexpr LanesKernel<OverRows<Fill, Use>> kernel;
    kernel(block, theta, fill, use);
}

/// Writes the rows of a block, each times its factor and rounded; products are at most 2^15.
template <class Factor>
void write_multiples(const Block& block, const ShortTheta& theta, const Factor& factor,
                     std::int16_t* to) {
    RowNumbers factors;
    over_rows(
        block, theta,
        [&](std::size_t i, const auto& terms)
            DPREG_INLINE_LAMBDA { factor(terms).store(&factors[i]); },
        [&](auto lanes, std::size_t first, std::size_t count) DPREG_INLINE_LAMBDA {
            using Lanes = decltype(lanes);
            const std::size_t stride = block.stride;
            for (std::size_t i = 0; i < count; ++i) {
                const std::int16_t* q = block.q + (first + i) * stride;
                std::int16_t* row = to + (first + i) * stride;
                const Lanes by = Lanes::of(factors[i]);
                for (std::size_t j = 0; j < stride; j += kPanel) {
                    nearest(by * Lanes::load(q + j)).store(row + j);
                }
            }
        });
}

}  // namespace dpreg
