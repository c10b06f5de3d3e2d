#pragma once

#include <cstddef>

#include "dpreg/linalg/simd.hpp"

namespace dpreg {

/// Factors the symmetric n x n matrix A = U'U in place.  Row-major with leading
/// dimension `stride`; only the upper triangle is read and written.
///
/// Returns false, leaving A half done, when a pivot is not a positive number:
/// then A is not positive definite to working precision.  Never throws.
bool cholesky_factor(double* a, std::size_t n, std::size_t stride);

/// Solves U'U x = b in place, `x` holding b on entry.
void cholesky_solve(const double* u, std::size_t n, std::size_t stride, double* x);

/// C += A'B, where A is `rows` x `wa`, B is `rows` x `wb` and C is `wa` x `wb`,
/// all row-major and contiguous, `wa` and `wb` multiples of kPanel.
///
/// Each entry of C is summed in the order of the rows, whatever the vector
/// length of the processor, so the result is the same on every machine.
/// Cost  rows * wa * wb multiplications; no scratch.
void add_crossprod(const double* a, const double* b, std::size_t rows, std::size_t wa,
                   std::size_t wb, double* c);

/// As add_crossprod(a, a, ...), for the kPanel-wide blocks on and above the
/// diagonal only; what lies below those blocks is left as it was.
void add_gram(const double* a, std::size_t rows, std::size_t width, double* c);

}  // namespace dpreg
