#pragma once

#include <cstddef>

namespace dpreg {

/// A view of a matrix of doubles, in any dense layout.
struct MatrixView {
    const double* data;
    std::size_t rows;
    std::size_t cols;
    std::ptrdiff_t row_stride;  ///< in elements
    std::ptrdiff_t col_stride;  ///< in elements

    double operator()(std::size_t i, std::size_t j) const {
        return data[static_cast<std::ptrdiff_t>(i) * row_stride +
                    static_cast<std::ptrdiff_t>(j) * col_stride];
    }
};

/// A view of a vector of doubles.
struct VectorView {
    const double* data;
    std::size_t size;
    std::ptrdiff_t stride;  ///< in elements

    double operator[](std::size_t i) const { return data[static_cast<std::ptrdiff_t>(i) * stride]; }
};

}  // namespace dpreg
