#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpreg {

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

/// Rows of X'X at some of its columns.
class GramRows {
public:
    GramRows() = default;
    GramRows(const GramRows&) = delete;
    GramRows& operator=(const GramRows&) = delete;
    virtual ~GramRows() = default;

    /// products[slot of k] += (X'X)_jk for the columns k.  Returns how many cells it went through.
    virtual std::size_t add(std::size_t j, SlotSums& products) = 0;
};

}  // namespace dpreg
