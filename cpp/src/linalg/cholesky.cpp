#include "dpreg/linalg/cholesky.hpp"

#include <cmath>

namespace dpreg {

bool cholesky_factor(double* a, std::size_t n, std::size_t stride) {
    for (std::size_t k = 0; k < n; ++k) {
        double* pivot_row = a + k * stride;
        const double pivot = pivot_row[k];
        if (!(pivot > 0.0) || !std::isfinite(pivot)) return false;
        const double scale = 1.0 / std::sqrt(pivot);
        for (std::size_t j = k; j < n; ++j) pivot_row[j] *= scale;
        // Row by row, so that the inner loop runs along memory.
        for (std::size_t i = k + 1; i < n; ++i) {
            double* row = a + i * stride;
            const double factor = pivot_row[i];
            for (std::size_t j = i; j < n; ++j) row[j] -= factor * pivot_row[j];
        }
    }
    return true;
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
