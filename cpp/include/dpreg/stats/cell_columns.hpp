#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/stats/cells.hpp"

namespace dpreg {

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
