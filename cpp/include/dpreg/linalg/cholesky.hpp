#pragma once

#include <cstddef>

namespace dpreg {

/// Factors the symmetric n x n matrix A = U'U in place.  Row-major with leading
/// dimension `stride`; only the upper triangle is read and written.
///
/// Returns false, leaving A half done, when a pivot is not a positive number:
/// then A is not positive definite to working precision.  Never throws.
bool cholesky_factor(double* a, std::size_t n, std::size_t stride);

/// Solves U'U x = b in place, `x` holding b on entry.
void cholesky_solve(const double* u, std::size_t n, std::size_t stride, double* x);

}  // namespace dpreg
