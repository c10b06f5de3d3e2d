#include "dpreg/stats/rank.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

constexpr int kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr int kPasses = 4;
// Above the key of infinity: no number has it, and it is all ones.
constexpr std::uint64_t kAbsent = UINT64_MAX;

/// A double as an integer of the same order; the two zeros are equal.
std::uint64_t ordered_key(double value) {
    value += 0.0;  // -0 becomes 0
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof word);
    // Negative numbers have all bits turned, others the sign bit; without a branch.
    return word ^ ((0 - (word >> 63)) | (std::uint64_t{1} << 63));
}

int bit_width(std::uint64_t value) {
    int width = 0;
    while (width < 64 && (value >> width) != 0) ++width;
    return width;
}

/// Rows sorted by value.  A word holds the row and above it as many bits of the key as there
/// is room for, up to 44, from the highest on which two keys differ; keys that agree on all
/// of those are put right afterwards.
class SortedRows {
public:
    explicit SortedRows(const VectorView& x) : x_(x) {
        require(x.size < kNoRank, "a column must have fewer than 2^32 - 1 rows");
        read();
        radix_sort();
        if (truncated_) sort_within_words();
    }

    std::size_t size() const { return words_.size(); }
    std::uint32_t row(std::size_t i) const { return row_of(words_[i]); }
    bool equals_previous(std::size_t i) const { return same(words_[i - 1], words_[i]); }

private:
    bool same(std::uint64_t a, std::uint64_t b) const {
        return (a >> row_bits_) == (b >> row_bits_) && (!truncated_ || key(a) == key(b));
    }
    std::uint32_t row_of(std::uint64_t word) const {
        return static_cast<std::uint32_t>(word & ((std::uint64_t{1} << row_bits_) - 1));
    }
    std::uint64_t key(std::uint64_t word) const { return ordered_key(x_[row_of(word)]); }

    /// Keys first; once their differing bits are known, words replace them.
    void read() {
        words_.resize(x_.size);
        std::size_t missing = 0;
        std::uint64_t all = UINT64_MAX;
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < x_.size; ++i) {
            const bool absent = std::isnan(x_[i]);
            const auto key = absent ? kAbsent : ordered_key(x_[i]);
            words_[i] = key;
            missing += absent ? 1 : 0;
            all &= key;
            any |= absent ? 0 : key;
        }
        const std::uint64_t different = missing == x_.size ? 0 : all ^ any;
        row_bits_ = bit_width(x_.size);
        const int room = std::min(kPasses * kDigitBits, 64 - row_bits_);
        const int shift = std::max(0, bit_width(different) - room);
        truncated_ = (different & ((std::uint64_t{1} << shift) - 1)) != 0;
        std::size_t out = 0;
        for (std::size_t i = 0; i < x_.size; ++i) {
            if (words_[i] == kAbsent) continue;
            words_[out++] = ((words_[i] >> shift) << row_bits_) | i;
        }
        words_.resize(out);
    }

    void radix_sort() {
        std::array<std::array<std::uint32_t, kDigits>, kPasses> counts{};
        // The last digit may be cut short by the end of the word.
        const auto digit = [this](std::uint64_t word, int pass) {
            const int at = row_bits_ + pass * kDigitBits;
            return static_cast<std::size_t>(at < 64 ? (word >> at) % kDigits : 0);
        };
        for (const auto word : words_) {
            for (int pass = 0; pass < kPasses; ++pass) {
                ++counts[static_cast<std::size_t>(pass)][digit(word, pass)];
            }
        }
        std::vector<std::uint64_t> sorted(words_.size());
        for (int pass = 0; pass < kPasses; ++pass) {
            auto& next = counts[static_cast<std::size_t>(pass)];
            if (*std::max_element(next.begin(), next.end()) == words_.size()) continue;
            std::uint32_t start = 0;
            for (auto& count : next) start += std::exchange(count, start);
            for (const auto word : words_) sorted[next[digit(word, pass)]++] = word;
            words_.swap(sorted);
        }
    }

    void sort_within_words() {
        for (std::size_t i = 0, end = 0; i < words_.size(); i = end) {
            end = i + 1;
            bool equal = true;
            while (end < words_.size() && (words_[end] >> row_bits_) == (words_[i] >> row_bits_)) {
                equal = equal && key(words_[end]) == key(words_[i]);
                ++end;
            }
            if (equal) continue;
            // Words of one run differ in their rows only, so ties stay in the order of rows.
            const auto run = words_.begin() + static_cast<std::ptrdiff_t>(i);
            std::sort(run, words_.begin() + static_cast<std::ptrdiff_t>(end),
                      [this](std::uint64_t a, std::uint64_t b) {
                          return key(a) != key(b) ? key(a) < key(b) : a < b;
                      });
        }
    }

    const VectorView& x_;
    std::vector<std::uint64_t> words_;
    int row_bits_ = 0;
    bool truncated_ = false;
};

}  // namespace

std::vector<std::uint32_t> ascending_order(const VectorView& x) {
    const SortedRows sorted(x);
    std::vector<std::uint32_t> order(sorted.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = sorted.row(i);
    return order;
}

RankedColumn rank_column(const VectorView& x) {
    const SortedRows sorted(x);
    RankedColumn column;
    column.ranks.assign(x.size, kNoRank);
    column.present = sorted.size();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i == 0 || !sorted.equals_previous(i)) {
            column.starts.push_back(static_cast<std::uint32_t>(i));
        }
        column.ranks[sorted.row(i)] = static_cast<std::uint32_t>(column.starts.size() - 1);
    }
    column.levels = column.starts.size();
    column.starts.push_back(static_cast<std::uint32_t>(sorted.size()));
    for (std::size_t r = 0; r < column.levels; ++r) {
        const std::uint64_t count = column.starts[r + 1] - column.starts[r];
        column.tied_pairs += count * (count - 1) / 2;
    }
    if (!column.tied()) column.starts.clear();
    column.starts.shrink_to_fit();
    return column;
}

}  // namespace dpreg
