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

/// A view of compressed sparse rows.  Row i has the entries
/// row_start[i], ..., row_start[i + 1] - 1, by rising column.
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

/// The cells of sparse rows that are not 0, by columns: 6 bytes each and 4 per column.
///
/// Column j lies in block j mod 2^block_bits, so that many heavy columns side by side
/// are spread over the blocks; each block is sorted by itself, in the cache.
class CellColumns {
public:
    /// Domain  at most one entry per cell; fewer than 2^32 rows.
    explicit CellColumns(const SparseView& x);

    UnitColumn column(std::size_t j) const {
        const std::size_t block = j & (block_start_.size() - 2);
        const std::uint32_t* start = column_start_.data() + block * (places_ + 1) + (j >> bits_);
        const std::size_t first = block_start_[block] + start[0];
        return {row_of_.data() + first, cell_of_.data() + first, start[1] - start[0]};
    }

    /// How many cells are not 0.
    std::size_t size() const { return row_of_.size(); }

private:
    void choose_blocks(const SparseView& x);
    std::vector<std::uint16_t> fill_blocks(const SparseView& x);
    void sort_block(std::size_t block, const std::vector<std::uint16_t>& place_of);

    int bits_ = 8;
    std::size_t places_ = 0;                   ///< columns of a block
    std::vector<std::size_t> block_start_;     ///< one more than there are blocks
    std::vector<std::uint32_t> column_start_;  ///< within the block, one more than its columns
    std::vector<std::uint32_t> row_of_;
    std::vector<std::int16_t> cell_of_;
};

}  // namespace dpreg
