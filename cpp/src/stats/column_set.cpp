#include "dpreg/stats/column_set.hpp"

#include <bitset>
#include <utility>

namespace dpreg {

ColumnSet::ColumnSet(std::size_t cols, std::vector<std::uint32_t> columns) : ColumnSet(cols) {
    columns_ = std::move(columns);
    for (const std::size_t j : columns_) words_[j / kWord] |= std::uint64_t{1} << (j % kWord);
    std::size_t seen = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
        before_[w] = static_cast<std::uint32_t>(seen);
        seen += std::bitset<kWord>(words_[w]).count();
    }
}

std::size_t ColumnSet::slot(std::size_t j) const {
    const std::uint64_t lower = (std::uint64_t{1} << (j % kWord)) - 1;
    return before_[j / kWord] + std::bitset<kWord>(words_[j / kWord] & lower).count();
}

}  // namespace dpreg
