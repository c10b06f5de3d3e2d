#include "dpreg/mechanisms/dp_kendall.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/parallel.hpp"

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

// Below this size comparing all pairs is faster than another partition.
constexpr std::size_t kAllPairs = 32;

std::uint64_t compare_all_pairs(const std::uint32_t* v, std::size_t n) {
    std::uint64_t inversions = 0;
    for (std::size_t j = 1; j < n; ++j) {
        std::uint32_t larger_before = 0;
        for (std::size_t i = 0; i < j; ++i) larger_before += v[i] > v[j] ? 1U : 0U;
        inversions += larger_before;
    }
    return inversions;
}

/// Inversions among values that agree above bit `bit`.
std::uint64_t partition_from(std::uint32_t* v, std::size_t n, int bit, std::uint32_t* scratch) {
    if (n <= kAllPairs) return compare_all_pairs(v, n);
    if (bit < 0) return 0;
    std::size_t zeros = 0;
    std::size_t ones = 0;
    std::uint64_t places = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t value = v[i];
        const std::size_t one = (value >> bit) & 1U;
        v[zeros] = value;
        scratch[ones] = value;
        places += i & (one - 1);
        zeros += 1 - one;
        ones += one;
    }
    // A value with bit 0 moves forward by the number of those with bit 1 before it.
    const std::uint64_t moved = places - (zeros == 0 ? 0 : std::uint64_t{zeros} * (zeros - 1) / 2);
    // In this order: the second half takes the place of the first as its scratch.
    const std::uint64_t among_zeros = partition_from(v, zeros, bit - 1, scratch + ones);
    return moved + among_zeros + partition_from(scratch, ones, bit - 1, v);
}

VectorView column(const MatrixView& x, std::size_t j) {
    // A table without rows may have no memory to point into.
    const auto offset = x.rows == 0 ? 0 : static_cast<std::ptrdiff_t>(j) * x.col_stride;
    return {x.data + offset, x.rows, x.row_stride};
}

/// Raises `largest`, of each group that is still a candidate, to the largest
/// |concordant - discordant| of `common` with its columns.
void raise_to_balances(const RankedColumn& common, const std::vector<RankedColumn>& columns,
                       const ColumnGroups& groups, const std::vector<std::size_t>& candidates,
                       std::vector<std::int64_t>& largest) {
    const KendallPairs pairs(common);
    parallel_ranges(candidates.size(), [&](std::size_t begin, std::size_t end) {
        KendallScratch scratch;
        for (std::size_t i = begin; i < end; ++i) {
            const auto g = candidates[i];
            const auto balance = groups.largest(
                g, [&](std::size_t j) { return std::abs(pairs.balance(columns[j], scratch)); });
            largest[g] = std::max(largest[g], balance);
        }
    });
}

/// Draws a candidate.  `scores` are integers; `unit` of them are one unit of tau.
std::size_t draw(const std::vector<int128>& scores, const std::vector<std::size_t>& candidates,
                 double unit, double range, double epsilon, BitSource& bits) {
    int128 best = scores[candidates.front()];
    for (const auto j : candidates) best = std::max(best, scores[j]);
    std::vector<double> gaps;
    gaps.reserve(candidates.size());
    // The difference is exact, so a gap is right to three roundings however large n is.
    for (const auto j : candidates) gaps.push_back(static_cast<double>(best - scores[j]) / unit);
    return choose_by_gap(std::move(gaps), range, epsilon, bits);
}

}  // namespace

std::uint64_t count_inversions(std::uint32_t* v, std::size_t n, std::uint32_t bound,
                               std::uint32_t* scratch) {
    int bits = 0;
    while (bits < 32 && bound > 1 && ((bound - 1) >> bits) != 0) ++bits;
    return partition_from(v, n, bits - 1, scratch);
}

KendallPairs::KendallPairs(const RankedColumn& common) : common_(common), rows_(common.present) {
    std::vector<std::uint32_t> next = common.starts;
    for (std::size_t i = 0; i < common.ranks.size(); ++i) {
        const auto rank = common.ranks[i];
        if (rank == kNoRank) continue;
        rows_[next.empty() ? rank : next[rank]++] = static_cast<std::uint32_t>(i);
    }
    if (!common.tied()) return;
    ranks_.resize(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) ranks_[i] = common.ranks[rows_[i]];
}

/// The rows of the common column in which `other` is present, into scratch.rows, their ranks if
/// there are ties, and how many of them rank below each level of `other`, into scratch.next.
void KendallPairs::keep_complete(const RankedColumn& other, KendallScratch& scratch) const {
    scratch.rows.clear();
    scratch.ranks.clear();
    scratch.next.assign(other.levels + 1, 0);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const auto rank = other.ranks[rows_[i]];
        if (rank == kNoRank) continue;
        scratch.rows.push_back(rows_[i]);
        if (common_.tied()) scratch.ranks.push_back(ranks_[i]);
        ++scratch.next[rank + 1];
    }
    for (std::size_t r = 0; r < other.levels; ++r) scratch.next[r + 1] += scratch.next[r];
}

std::int64_t KendallPairs::balance(const RankedColumn& other, KendallScratch& scratch) const {
    const std::size_t size = common_.ranks.size();
    require(other.ranks.size() == size, "columns must have the same length");
    const bool complete = common_.present == size && other.present == size;
    std::uint64_t tied = common_.tied_pairs + other.tied_pairs;
    if (complete) {
        scratch.next = other.starts;
    } else {
        keep_complete(other, scratch);
        const auto& kept = scratch.ranks;
        tied = tied_pairs(0, kept.size(), [&](std::size_t i) { return kept[i]; });
        for (std::size_t r = 0; r < other.levels; ++r) {
            tied += pairs(scratch.next[r + 1] - scratch.next[r]);
        }
    }
    const auto& rows = complete ? rows_ : scratch.rows;
    const auto& ranks = complete ? ranks_ : scratch.ranks;
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
    const auto common = rank_column(y);
    KendallScratch scratch;
    const auto balance = KendallPairs(common).balance(rank_column(x), scratch);
    return static_cast<double>(balance) / static_cast<double>(x.size - 1);
}

std::vector<std::size_t> dp_kendall(const MatrixView& x, const VectorView& y,
                                    const ColumnGroups& groups, const KendallChoice& choice,
                                    BitSource& bits) {
    require(x.rows == y.size, "x and y must have the same number of rows");
    require(choice.k >= 1 && choice.k <= groups.size(),
            "k must be between 1 and the number of groups of columns");
    require(groups.end(groups.size() - 1) == x.cols, "groups must be of the columns of x");
    require(choice.first_range >= kKendallLabelRange && choice.later_range >= kKendallScoreRange,
            "the ranges of the scores must be at least 5/2 and 5");
    const RankedColumn label = rank_column(y);
    std::vector<RankedColumn> columns(x.cols);
    parallel_ranges(x.cols, [&](std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j) columns[j] = rank_column(column(x, j));
    });

    std::vector<std::size_t> candidates(groups.size());
    std::iota(candidates.begin(), candidates.end(), std::size_t{0});
    std::vector<std::int64_t> with_label(groups.size(), 0);
    raise_to_balances(label, columns, groups, candidates, with_label);
    std::vector<int128> with_chosen(groups.size(), 0);
    std::vector<int128> scores(groups.size());
    std::vector<std::size_t> chosen;
    const double pairs_a_row = x.rows < 2 ? 1.0 : static_cast<double>(x.rows - 1);
    for (;;) {
        // Equation (1) times (n - 1) times the number of groups chosen so far, an integer.
        const std::size_t before = std::max<std::size_t>(1, chosen.size());
        for (const auto g : candidates) {
            scores[g] = static_cast<int128>(before) * with_label[g] - with_chosen[g];
        }
        const auto drawn = draw(scores, candidates, pairs_a_row * static_cast<double>(before),
                                chosen.empty() ? choice.first_range : choice.later_range,
                                choice.epsilon_round, bits);
        chosen.push_back(candidates[drawn]);
        if (chosen.size() == choice.k) return chosen;
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(drawn));
        std::vector<std::int64_t> latest(groups.size(), 0);
        for (auto s = groups.begin(chosen.back()); s < groups.end(chosen.back()); ++s) {
            raise_to_balances(columns[s], columns, groups, candidates, latest);
        }
        for (const auto g : candidates) with_chosen[g] += latest[g];
    }
}

}  // namespace dpreg
