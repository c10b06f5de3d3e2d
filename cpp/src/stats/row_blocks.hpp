// What the sums over quantised rows share.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/row_losses.hpp"
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

}  // namespace dpreg
