#include "level_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <vector>

namespace dpreg {
namespace {

constexpr std::size_t kLeastRows = 1024;
constexpr std::size_t kMostLevels = 256;
constexpr int kSlotBits = 10;
constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;

/// The values of a column, in the order in which they come; NaN is not among them.
class Levels {
public:
    static constexpr std::uint16_t kNone = kMostLevels;

    Levels() { slots_.fill(kNone); }

    /// The number of the level of `value`; false if there are too many.
    bool find(double value, std::uint16_t& level) {
        level = kNone;
        if (std::isnan(value)) return true;
        value += 0.0;  // -0 becomes 0
        std::uint64_t word = 0;
        std::memcpy(&word, &value, sizeof word);
        // The golden ratio spreads words that differ in a few bits.
        std::size_t slot = word * 0x9e3779b97f4a7c15U >> (64 - kSlotBits);
        while (slots_[slot] != kNone && values_[slots_[slot]] != value) slot = (slot + 1) % kSlots;
        if (slots_[slot] == kNone) {
            if (values_.size() == kMostLevels) return false;
            slots_[slot] = static_cast<std::uint16_t>(values_.size());
            values_.push_back(value);
        }
        level = slots_[slot];
        return true;
    }

    std::size_t size() const { return values_.size(); }

    /// Levels from the smallest value to the largest.
    std::vector<std::size_t> ascending() const {
        std::vector<std::size_t> order(values_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return values_[a] < values_[b]; });
        return order;
    }

private:
    std::array<std::uint16_t, kSlots> slots_{};
    std::vector<double> values_;
};

/// Rows by level of both columns, the last of each being NaN.
using Table = std::vector<std::int64_t>;
constexpr std::size_t kWidth = kMostLevels + 1;

std::int64_t balance_of(const Table& table, const Levels& x, const Levels& y) {
    const auto columns = y.ascending();
    std::vector<std::int64_t> before(columns.size(), 0);  // rows at smaller levels of x
    std::int64_t balance = 0;
    for (const std::size_t i : x.ascending()) {
        const std::int64_t* row = table.data() + i * kWidth;
        const std::int64_t all = std::accumulate(before.begin(), before.end(), std::int64_t{0});
        std::int64_t smaller = 0;  // of them, those at smaller levels of y
        for (std::size_t k = 0; k < columns.size(); ++k) {
            balance += row[columns[k]] * (smaller - (all - smaller - before[k]));
            smaller += before[k];
        }
        for (std::size_t k = 0; k < columns.size(); ++k) before[k] += row[columns[k]];
    }
    return balance;
}

}  // namespace

std::optional<std::int64_t> balance_by_table(const VectorView& x, const VectorView& y) {
    if (x.size < kLeastRows) return std::nullopt;
    Levels x_levels;
    Levels y_levels;
    Table table(kWidth * kWidth, 0);
    for (std::size_t i = 0; i < x.size; ++i) {
        std::uint16_t a = 0;
        std::uint16_t b = 0;
        if (!x_levels.find(x[i], a) || !y_levels.find(y[i], b)) return std::nullopt;
        ++table[a * kWidth + b];
    }
    return balance_of(table, x_levels, y_levels);
}

}  // namespace dpreg
