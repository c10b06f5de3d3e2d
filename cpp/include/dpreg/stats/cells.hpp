#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Cells are integers, in units of 2^-kCellBits.
inline constexpr int kCellBits = 14;
/// Responses are integers, in units of 2^-kResponseBits of the l1 radius.
inline constexpr int kResponseBits = 16;

/// `x` clipped to [-1, 1] in steps of 2^-bits, to the nearest, halves away from 0; NaN is 0.
inline std::int32_t to_grid_of(double x, int bits) {
    if (std::isnan(x)) return 0;
    const double scaled = std::clamp(x, -1.0, 1.0) * static_cast<double>(1 << bits);
    return static_cast<std::int32_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

/// `x` clipped to [-1, 1] and rounded to the grid of cells; NaN is 0.
inline std::int16_t to_cell(double x) {
    return static_cast<std::int16_t>(to_grid_of(x, kCellBits));
}

/// y / l1 clipped to [-1, 1] and rounded to the grid of responses; NaN is 0.
std::vector<std::int32_t> to_responses(VectorView y, double l1);

/// Compressed sparse rows that somebody else owns.  Row i has the entries
/// row_start[i], ..., row_start[i + 1] - 1, in any order; entries of one cell are added.
struct SparseView {
    const std::int64_t* row_start;  ///< size rows + 1
    const std::int32_t* columns;
    const double* values;
    std::size_t rows;
    std::size_t cols;
    std::size_t entries;
};

/// The cells of one column, those of a sparse matrix only where they are not 0.
struct UnitColumn {
    const std::uint32_t* rows;  ///< null when cell k lies in row k
    const std::int16_t* cells;
    std::size_t size;

    /// Calls visit(row, cell) from the first row to the last.
    template <class Visit>
    void visit(Visit visit) const {
        if (rows == nullptr) {
            for (std::size_t i = 0; i < size; ++i) visit(i, cells[i]);
        } else {
            for (std::size_t k = 0; k < size; ++k) visit(std::size_t{rows[k]}, cells[k]);
        }
    }
};

}  // namespace dpreg
