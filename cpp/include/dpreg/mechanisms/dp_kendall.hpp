#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/groups.hpp"
#include "dpreg/stats/rank.hpp"

namespace dpreg {

/// Largest change of `kendall_tau` when one row is added or removed; attained.
/// Dick et al. (2023), Lemma 3.2, for ties and missing values too (kendall.md, Lemma 1).
inline constexpr double kKendallSensitivity = 1.5;

/// Adding a row changes |tau| by an amount in [-kKendallSensitivity, kKendallLargestRise];
/// both ends are attained (kendall.md, Lemma 2).
inline constexpr double kKendallLargestRise = 1.0;

/// Length of the interval that holds the changes of the scores of round 1 of DPKendall,
/// |tau_j|, over all columns j; attained.
inline constexpr double kKendallLabelRange = kKendallSensitivity + kKendallLargestRise;

/// The same for the later rounds, |tau_j| less the mean of |tau_js| over the columns s
/// chosen so far; attained (kendall.md, Lemma 3).
inline constexpr double kKendallScoreRange = 2.0 * kKendallLabelRange;

/// Memory that one thread needs to count pairs; it may be used again and again.
struct KendallScratch {
    std::vector<std::uint32_t> rows;
    std::vector<std::uint32_t> ranks;
    std::vector<std::uint32_t> sequence;
    std::vector<std::uint32_t> spare;
    std::vector<std::uint32_t> next;
};

/// Concordant less discordant pairs of rows between one column and many others.
///
/// A pair of rows counts 1 if both columns order it the same way, -1 if they order it
/// differently, and 0 if it is tied in either or has NaN in either.
class KendallPairs {
public:
    /// @param common  Must outlive this.
    explicit KendallPairs(const RankedColumn& common);

    /// Domain   `other` has as many rows as `common`; total otherwise.
    /// Cost     O(n log min(levels)) time; O(n) scratch, which `scratch` keeps.
    std::int64_t balance(const RankedColumn& other, KendallScratch& scratch) const;

private:
    void keep_complete(const RankedColumn& other, KendallScratch& scratch) const;

    const RankedColumn& common_;
    std::vector<std::uint32_t> rows_;   ///< by ascending value, those with NaN left out
    std::vector<std::uint32_t> ranks_;  ///< of these rows; empty when no two values are equal
};

/// The number of pairs i < j with v[i] > v[j]; equal values are no inversion.
///
/// By halving the values: a stable partition by the highest bit of the values moves each
/// value below it past the larger ones before it, and then each half is done by itself.  A
/// merge sort backwards, without comparisons to wait for.
///
/// Domain   values below `bound`; `scratch` has room for n values.  Destroys `v`.
/// Cost     O(n log bound) steps of two stores each.
std::uint64_t count_inversions(std::uint32_t* v, std::size_t n, std::uint32_t bound,
                               std::uint32_t* scratch);

/// Kendall rank correlation of two columns, scaled so that its sensitivity is constant:
/// tau = (concordant - discordant) / (n - 1), and 0 when n < 2.
///
/// Domain   total (rank.hpp).  A tied pair counts for neither side, and so does a pair with
///          NaN: a constant column scores 0, and so does a column of NaN.
/// Units    pairs a row, not correlation: the range is [-n/2, n/2].
/// Privacy  none by itself.  Deterministic, `kKendallSensitivity`-sensitive under addition
///          or removal of one row.
/// Cost     O(n log n) time, O(n) scratch.
double kendall_tau(const VectorView& x, const VectorView& y);

/// How columns are chosen.  All public.
struct KendallChoice {
    std::size_t k;         ///< how many groups
    double epsilon_round;  ///< of each of the k rounds
    /// Ranges of the changes of the scores: the noise of a round is Gumbel noise of scale
    /// range / epsilon_round.  Dick et al. (2023) print 3 and 6.
    double first_range = kKendallLabelRange;
    double later_range = kKendallScoreRange;
};

/// DPKendall (Dick et al., 2023, Algorithm 1): k columns of x that are rank-correlated with y
/// and little with one another.  Each round draws a column with the score of their equation
/// (1), |tau_j| less the mean of |tau_js| over the columns s chosen so far.
///
/// With groups of several columns they take the place of columns, and |tau| of two groups is the
/// largest |tau| of a column of one and a column of the other.
///
/// Domain   groups of the columns of x; 1 <= k <= groups.size(); ranges at least
///          kKendallLabelRange and kKendallScoreRange; every cell may be any double, NaN takes no
///          part.
/// Returns  k distinct groups, in the order they were chosen.
/// Privacy  (k epsilon_round)-DP under addition or removal of one row.  Proof: dp_kendall.md.
/// Cost     O(d c n log n) time, c the columns of what is chosen, and 4 to 8 bytes a cell
///          for the ranks, and O(n) scratch a thread.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> dp_kendall(const MatrixView& x, const VectorView& y,
                                    const ColumnGroups& groups, const KendallChoice& choice,
                                    BitSource& bits);

}  // namespace dpreg
