#pragma once

#include <cstdint>
#include <vector>

#include "dpreg/stats/l1_gradient.hpp"

namespace dpreg {

/// Range of the changes of all screening scores and of a constant when one record comes or
/// goes, in units of l1^2, for given w: the supremum (screening.md, Theorem 2).
inline constexpr double kScreeningRange = 5.0;
/// No score falls by more than this, and none rises by more than the next, in units of l1^2.
inline constexpr double kScreeningFall = 5.0;
inline constexpr double kScreeningRise = 1.0;
/// The range of the computed scores exceeds kScreeningRange by less than this.
inline constexpr double kScreeningRounding = 0x1p-12;

/// T_i = D_i^2 / (4 n) - A in units of l1^2, for the problem restricted to the columns in
/// `active`: D_i = max_k |g_k| - |g_i|, A the Wolfe gap, n the number of rows; all 0 when
/// n = 0, and -infinity for columns that are not active.
///
/// T_i > 0 implies w*_i = 0 for every minimiser w* of the sum of squares on the l1 ball
/// (screening.md, Theorem 1).
///
/// Privacy  none by itself.  The changes by one record, those of a constant score among
///          them, have range kScreeningRange + kScreeningRounding (Theorem 2).
std::vector<double> screening_scores(L1Gradient& gradient, const std::vector<std::uint8_t>& active);

}  // namespace dpreg
