#include "dpreg/stats/kendall.hpp"

#include "dpreg/error.hpp"
#include "dpreg/stats/inversions.hpp"
#include "level_table.hpp"

namespace dpreg {
namespace {

std::uint64_t pairs(std::uint64_t n) { return n == 0 ? 0 : n * (n - 1) / 2; }

/// Pairs of equal neighbours' runs in values[begin, end), where equal values are adjacent.
template <class Value>
std::uint64_t tied_pairs(std::size_t begin, std::size_t end, const Value& value) {
    std::uint64_t tied = 0;
    for (std::size_t run = begin, i = begin + 1; i <= end && begin < end; ++i) {
        if (i < end && value(i) == value(run)) continue;
        tied += pairs(i - run);
        run = i;
    }
    return tied;
}

/// The rows of `common` in which `other` is present, into scratch.rows, their ranks if there are
/// ties, and how many of them rank below each level of `other`, into scratch.next.
void keep_complete(const OrderedColumn& common, const RankedColumn& other,
                   KendallScratch& scratch) {
    scratch.rows.clear();
    scratch.ranks.clear();
    scratch.next.assign(other.levels + 1, 0);
    for (std::size_t i = 0; i < common.rows.size(); ++i) {
        const auto rank = other.ranks[common.rows[i]];
        if (rank == kNoRank) continue;
        scratch.rows.push_back(common.rows[i]);
        if (common.tied()) scratch.ranks.push_back(common.ranks[i]);
        ++scratch.next[rank + 1];
    }
    for (std::size_t r = 0; r < other.levels; ++r) scratch.next[r + 1] += scratch.next[r];
}

}  // namespace

std::int64_t KendallPairs::balance(const RankedColumn& other, KendallScratch& scratch) const {
    require(other.ranks.size() == common_.size, "columns must have the same length");
    const bool complete = common_.rows.size() == common_.size && other.present == common_.size;
    std::uint64_t tied = common_.tied_pairs + other.tied_pairs;
    if (complete) {
        scratch.next = other.starts;
    } else {
        keep_complete(common_, other, scratch);
        const auto& kept = scratch.ranks;
        tied = tied_pairs(0, kept.size(), [&](std::size_t i) { return kept[i]; });
        for (std::size_t r = 0; r < other.levels; ++r) {
            tied += pairs(scratch.next[r + 1] - scratch.next[r]);
        }
    }
    const auto& rows = complete ? common_.rows : scratch.rows;
    const auto& ranks = complete ? common_.ranks : scratch.ranks;
    const std::size_t n = rows.size();
    auto& sequence = scratch.sequence;
    auto& next = scratch.next;
    sequence.resize(n);
    scratch.spare.resize(n);

    // Pairs tied in one column must not look discordant.  If the common column has no ties
    // its order will do; else the rows are listed by the other column, ties by the common one.
    std::uint64_t tied_in_both = 0;
    if (!common_.tied()) {
        for (std::size_t i = 0; i < n; ++i) sequence[i] = other.ranks[rows[i]];
    } else if (next.empty()) {
        for (std::size_t i = 0; i < n; ++i) sequence[other.ranks[rows[i]]] = ranks[i];
    } else {
        for (std::size_t i = 0; i < n; ++i) sequence[next[other.ranks[rows[i]]]++] = ranks[i];
        // next[r] is now where level r ends.
        std::size_t begin = 0;
        for (std::size_t r = 0; r < other.levels; begin = next[r++]) {
            tied_in_both += tied_pairs(begin, next[r], [&](std::size_t i) { return sequence[i]; });
        }
    }
    const auto levels = common_.tied() ? common_.levels : other.levels;
    const std::uint64_t discordant = count_inversions(
        sequence.data(), n, static_cast<std::uint32_t>(levels), scratch.spare.data());
    return static_cast<std::int64_t>(pairs(n) - tied + tied_in_both - 2 * discordant);
}

double kendall_tau(const VectorView& x, const VectorView& y) {
    require(x.size == y.size, "x and y must have the same length");
    if (x.size < 2) return 0.0;
    auto balance = balance_by_table(x, y);
    if (!balance) {
        const auto other = rank_column(x);
        KendallScratch scratch;
        balance = KendallPairs(order_column(y)).balance(other, scratch);
    }
    return static_cast<double>(*balance) / static_cast<double>(x.size - 1);
}

}  // namespace dpreg
