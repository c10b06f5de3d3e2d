#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/column_groups.hpp"
#include "dpreg/stats/kendall.hpp"

namespace dpreg {

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
///          part (kendall.hpp).
/// Returns  k distinct groups, in the order they were chosen.
/// Privacy  (k epsilon_round)-DP under addition or removal of one row.  Proof: dp_kendall.md.
/// Cost     O(d c n log n) time, c the columns of what is chosen, and 4 to 8 bytes a cell
///          for the ranks, and O(n) scratch a thread.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> dp_kendall(const MatrixView& x, const VectorView& y,
                                    const ColumnGroups& groups, const KendallChoice& choice,
                                    BitSource& bits);

}  // namespace dpreg
