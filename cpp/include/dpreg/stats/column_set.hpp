#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpreg {

/// Some of the columns of a matrix, numbered in rising order: their slots.
///
/// Takes a bit and a half per column of the matrix, and 4 bytes per column of the set.
class ColumnSet {
public:
    /// The empty set.
    explicit ColumnSet(std::size_t cols) : words_(cols / kWord + 1), before_(cols / kWord + 1) {}

    /// Domain  rising, and below cols.
    ColumnSet(std::size_t cols, std::vector<std::uint32_t> columns);

    std::size_t size() const { return columns_.size(); }
    std::size_t operator[](std::size_t slot) const { return columns_[slot]; }
    const std::vector<std::uint32_t>& columns() const { return columns_; }

    bool contains(std::size_t j) const { return (words_[j / kWord] >> (j % kWord) & 1) != 0; }

    /// Domain  contains(j).
    std::size_t slot(std::size_t j) const;

private:
    static constexpr std::size_t kWord = 64;

    std::vector<std::uint64_t> words_;   ///< a bit per column
    std::vector<std::uint32_t> before_;  ///< how many of the set precede each word
    std::vector<std::uint32_t> columns_;
};

/// Sums by slot of a ColumnSet, most of which are 0.
class SlotSums {
public:
    explicit SlotSums(std::size_t size) : sums_(size, 0) {}

    void add(std::size_t slot, std::int64_t term) {
        if (sums_[slot] == 0) touched_.push_back(static_cast<std::uint32_t>(slot));
        sums_[slot] += term;
    }

    /// Calls take(slot, sum) for each sum that is not 0, and sets all to 0.
    template <class Take>
    void drain(Take take) {
        for (const std::uint32_t slot : touched_) {
            // A slot that was 0 in between stands here twice.
            if (sums_[slot] != 0) take(slot, sums_[slot]);
            sums_[slot] = 0;
        }
        touched_.clear();
    }

private:
    std::vector<std::int64_t> sums_;
    std::vector<std::uint32_t> touched_;
};

}  // namespace dpreg
