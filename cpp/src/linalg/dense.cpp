#include "dpreg/linalg/dense.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "dpreg/linalg/simd.hpp"

namespace dpreg {
namespace {

/// y -= factor x
template <class Lanes>
DPREG_INLINE void subtract_multiple(double factor, const double* x, std::size_t size, double* y) {
    std::size_t j = 0;
    for (; j + kPanel <= size; j += kPanel) {
        (Lanes::load(y + j) - factor * Lanes::load(x + j)).store(y + j);
    }
    for (; j < size; ++j) y[j] -= factor * x[j];
}

struct Factor {
    template <class Lanes>
    DPREG_INLINE static void run(double* a, std::size_t n, std::size_t stride, bool& positive) {
        for (std::size_t k = 0; k < n && positive; ++k) {
            double* pivot_row = a + k * stride;
            const double pivot = pivot_row[k];
            positive = pivot > 0.0 && std::isfinite(pivot);
            const double scale = 1.0 / std::sqrt(pivot);
            for (std::size_t j = k; j < n; ++j) pivot_row[j] *= scale;
            // Row by row, so that the inner loop runs along memory.
            for (std::size_t i = k + 1; i < n; ++i) {
                subtract_multiple<Lanes>(pivot_row[i], pivot_row + i, n - i, a + i * stride + i);
            }
        }
    }
};

constexpr LanesKernel<Factor> factor_kernel;

constexpr std::size_t kRowsInCache = 32;  // rows of A and B that stay in the first-level cache

enum class Blocks : std::uint8_t { kAll, kUpper };

struct Accumulate {
    template <class Lanes>
    DPREG_INLINE static void run(const double* a, const double* b, std::size_t rows, std::size_t wa,
                                 std::size_t wb, double* c, Blocks blocks) {
        // Rows of C held in registers at a time: of wide registers there are more.
        constexpr std::size_t kTile = Lanes::kParts == 1 ? 8 : 4;
        for (std::size_t first = 0; first < rows; first += kRowsInCache) {
            const std::size_t last = std::min(rows, first + kRowsInCache);
            for (std::size_t i = 0; i < wa; i += kTile) {
                const std::size_t from = blocks == Blocks::kUpper ? i / kPanel * kPanel : 0;
                for (std::size_t j = from; j < wb; j += kPanel) {
                    Lanes sum[kTile];
                    for (std::size_t k = 0; k < kTile; ++k) {
                        sum[k] = Lanes::load(c + (i + k) * wb + j);
                    }
                    for (std::size_t r = first; r < last; ++r) {
                        const double* left = a + r * wa + i;
                        const auto right = Lanes::load(b + r * wb + j);
                        for (std::size_t k = 0; k < kTile; ++k) sum[k] += left[k] * right;
                    }
                    for (std::size_t k = 0; k < kTile; ++k) {
                        sum[k].store(c + (i + k) * wb + j);
                    }
                }
            }
        }
    }
};

constexpr LanesKernel<Accumulate> kernel;

}  // namespace

bool cholesky_factor(double* a, std::size_t n, std::size_t stride) {
    bool positive = true;
    factor_kernel(a, n, stride, positive);
    return positive;
}

void cholesky_solve(const double* u, std::size_t n, std::size_t stride, double* x) {
    for (std::size_t k = 0; k < n; ++k) {
        const double* row = u + k * stride;
        x[k] /= row[k];
        for (std::size_t j = k + 1; j < n; ++j) x[j] -= row[j] * x[k];
    }
    for (std::size_t k = n; k-- > 0;) {
        const double* row = u + k * stride;
        double sum = x[k];
        for (std::size_t j = k + 1; j < n; ++j) sum -= row[j] * x[j];
        x[k] = sum / row[k];
    }
}

void add_crossprod(const double* a, const double* b, std::size_t rows, std::size_t wa,
                   std::size_t wb, double* c) {
    kernel(a, b, rows, wa, wb, c, Blocks::kAll);
}

void add_gram(const double* a, std::size_t rows, std::size_t width, double* c) {
    kernel(a, a, rows, width, width, c, Blocks::kUpper);
}

}  // namespace dpreg
