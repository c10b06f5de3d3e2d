#include "dpreg/stats/cells.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dpreg/error.hpp"

namespace dpreg {

std::vector<std::int32_t> to_responses(VectorView y, double l1) {
    require(l1 > 0.0 && std::isfinite(l1), "l1 must be finite and greater than 0");
    std::vector<std::int32_t> responses(y.size);
    for (std::size_t i = 0; i < y.size; ++i) {
        responses[i] = to_grid_of(std::clamp(y[i], -l1, l1) / l1, kResponseBits);
    }
    return responses;
}

namespace {

constexpr std::size_t kMostPlaces = std::size_t{1} << 16;
constexpr std::size_t kMostInBlock = UINT32_MAX;

/// Calls visit(row, column, cell) for each cell that is not 0.
template <class Visit>
void visit_entries(const SparseView& x, Visit visit) {
    for (std::size_t i = 0; i < x.rows; ++i) {
        for (auto e = x.row_start[i]; e < x.row_start[i + 1]; ++e) {
            const std::int16_t cell = to_cell(x.values[e]);
            if (cell != 0) visit(i, static_cast<std::size_t>(x.columns[e]), cell);
        }
    }
}

}  // namespace

CellColumns::CellColumns(const SparseView& x) {
    choose_blocks(x);
    const auto place_of = fill_blocks(x);
    const std::size_t blocks = block_start_.size() - 1;
    column_start_.resize(blocks * (places_ + 1));
    for (std::size_t block = 0; block < blocks; ++block) sort_block(block, place_of);
}

void CellColumns::choose_blocks(const SparseView& x) {
    // A block of a single column has fewer cells than there are rows: this comes to an end.
    for (;; ++bits_) {
        const std::size_t blocks = std::size_t{1} << bits_;
        places_ = ((x.cols - 1) >> bits_) + 1;
        block_start_.assign(blocks + 1, 0);
        visit_entries(x, [&](std::size_t, std::size_t j, std::int16_t) {
            ++block_start_[(j & (blocks - 1)) + 1];
        });
        const std::size_t largest = *std::max_element(block_start_.begin(), block_start_.end());
        if (places_ <= kMostPlaces && largest <= kMostInBlock) break;
    }
    std::partial_sum(block_start_.begin(), block_start_.end(), block_start_.begin());
}

/// Cells in their blocks, row after row; returns the place of each cell's column in its block.
std::vector<std::uint16_t> CellColumns::fill_blocks(const SparseView& x) {
    row_of_.resize(block_start_.back());
    cell_of_.resize(block_start_.back());
    std::vector<std::uint16_t> place_of(block_start_.back());
    std::vector<std::size_t> next = block_start_;
    visit_entries(x, [&](std::size_t i, std::size_t j, std::int16_t cell) {
        const std::size_t at = next[j & (next.size() - 2)]++;
        row_of_[at] = static_cast<std::uint32_t>(i);
        cell_of_[at] = cell;
        place_of[at] = static_cast<std::uint16_t>(j >> bits_);
    });
    return place_of;
}

void CellColumns::sort_block(std::size_t block, const std::vector<std::uint16_t>& place_of) {
    const std::size_t first = block_start_[block];
    const std::size_t size = block_start_[block + 1] - first;
    std::uint32_t* start = column_start_.data() + block * (places_ + 1);
    for (std::size_t k = 0; k < size; ++k) ++start[place_of[first + k] + 1];
    std::partial_sum(start, start + places_ + 1, start);

    std::vector<std::uint32_t> next(start, start + places_);
    const auto from = static_cast<std::ptrdiff_t>(first);
    const auto to = static_cast<std::ptrdiff_t>(first + size);
    const std::vector<std::uint32_t> rows(row_of_.begin() + from, row_of_.begin() + to);
    const std::vector<std::int16_t> cells(cell_of_.begin() + from, cell_of_.begin() + to);
    for (std::size_t k = 0; k < size; ++k) {
        const std::size_t at = first + next[place_of[first + k]]++;
        row_of_[at] = rows[k];
        cell_of_[at] = cells[k];
    }
}

}  // namespace dpreg
