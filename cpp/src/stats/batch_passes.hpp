// Passes over the rows of a batch, which lie in the second-level cache; `width` is padded.
#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/stats/batch_fit.hpp"

namespace dpreg {

// Rows of a batch are scattered in memory: number of rows prefetched at a time.
inline constexpr std::size_t kAhead = 8;
inline constexpr std::size_t kCacheLine = 8;

/// Some rows of a matrix and a vector, of units.
struct Chosen {
    std::vector<std::size_t> rows;
    std::vector<std::size_t> units;
};

/// Copies the chosen rows that are finite side by side into `a`, whose padding stays as it is,
/// and drops the others from `chosen`; finds the largest size of each column.
struct Gather {
    template <class Lanes>
    DPREG_INLINE static void run(const MatrixView& x, const VectorView& y, std::size_t width,
                                 Chosen& chosen, double* a, double* largest) {
        const std::size_t count = chosen.rows.size();
        const bool side_by_side = x.col_stride == 1;
        std::size_t kept = 0;
        for (std::size_t k = 0; k < count; ++k) {
            const double* cells = start_of(x, chosen.rows[k]);
            if (side_by_side && k + kAhead < count) {
                const std::size_t next = chosen.rows[k + kAhead];
                const double* ahead = start_of(x, next);
                for (std::size_t j = 0; j < x.cols; j += kCacheLine) __builtin_prefetch(ahead + j);
                if (x.cols > 0) __builtin_prefetch(ahead + x.cols - 1);
                __builtin_prefetch(y.data + static_cast<std::ptrdiff_t>(next) * y.stride);
            }
            double* row = a + kept * width;
            std::size_t j = 0;
            for (; side_by_side && j + kPanel <= x.cols; j += kPanel) {
                Lanes::load(cells + j).store(row + j);
            }
            for (; j < x.cols; ++j) row[j] = cells[static_cast<std::ptrdiff_t>(j) * x.col_stride];
            row[x.cols] = y[chosen.rows[k]];
            // A sum of finite doubles may overflow, but a product with zero may not.
            Lanes probe = Lanes::of(0.0);
            for (j = 0; j < width; j += kPanel) probe += Lanes::load(row + j) * 0.0;
            if (probe.sum() != 0.0) continue;
            for (j = 0; j < width; j += kPanel) {
                const auto value = Lanes::load(row + j);
                above(above(value, -value), Lanes::load(largest + j)).store(largest + j);
            }
            chosen.units[kept++] = chosen.units[k];
        }
        chosen.units.resize(kept);
    }

    static const double* start_of(const MatrixView& x, std::size_t row) {
        return x.data + static_cast<std::ptrdiff_t>(row) * x.row_stride;
    }
};
inline constexpr LanesKernel<Gather> gather_kernel;

/// Columns times their unit, and the sums of that.
struct Scale {
    template <class Lanes>
    DPREG_INLINE static void run(double* a, std::size_t rows, std::size_t width,
                                 const double* units, double* sums) {
        for (std::size_t i = 0; i < rows; ++i) {
            for (std::size_t j = 0; j < width; j += kPanel) {
                const Lanes value = Lanes::load(a + i * width + j) * Lanes::load(units + j);
                value.store(a + i * width + j);
                (Lanes::load(sums + j) + value).store(sums + j);
            }
        }
    }
};
inline constexpr LanesKernel<Scale> scale_kernel;

/// Columns less their mean, and the weighed sums of that.
struct Centre {
    template <class Lanes>
    DPREG_INLINE static void run(double* a, std::size_t rows, std::size_t width,
                                 const double* means, double* weighed) {
        for (std::size_t i = 0; i < rows; ++i) {
            const double weight = mean_weight(i);
            for (std::size_t j = 0; j < width; j += kPanel) {
                const Lanes value = Lanes::load(a + i * width + j) - Lanes::load(means + j);
                value.store(a + i * width + j);
                (Lanes::load(weighed + j) + weight * value).store(weighed + j);
            }
        }
    }
};
inline constexpr LanesKernel<Centre> centre_kernel;

}  // namespace dpreg
