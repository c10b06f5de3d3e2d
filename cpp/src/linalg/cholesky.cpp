#include "dpreg/linalg/cholesky.hpp"

#include <cmath>

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

}  // namespace dpreg
