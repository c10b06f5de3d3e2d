#include "dpreg/mechanisms/dp_kendall.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/mechanisms/bounded_choice.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

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
