#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/l1_gradient.hpp"
#include "dpreg/stats/vertex_bounds.hpp"

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

/// Least and largest epsilon of one step.
inline constexpr double kLeastStepEpsilon = 0x1p-30;
inline constexpr double kLargestStepEpsilon = 1000.0;

enum class ScreenRule : std::uint8_t {
    kNone,
    kOne,  ///< at most one coordinate a time, against a dummy candidate
    kEach  ///< every coordinate by itself
};

/// When and how coordinates are screened.  All public.
struct Screening {
    ScreenRule rule = ScreenRule::kNone;
    /// Steps after which coordinates are screened, rising.
    std::vector<std::size_t> after;
    /// Of one choice: of one iteration (kOne) or of one coordinate in one iteration (kEach).
    double epsilon = 0.0;
    /// The score that a coordinate has to beat is this many times the noise scale
    /// (5 + 2^-12) l1^2 / epsilon.  At 0 or more a coordinate with a score of 0 or less is
    /// screened with probability at most exp(-margin) each time.
    double margin = 0.0;
};

/// A run of Frank-Wolfe: its steps and what became of them.  Everything is a function of
/// `path`, `screened` and the start, so all of it may be released together.
struct FrankWolfeRun {
    std::vector<std::int64_t> path;         ///< j + 1 for the vertex +l1 e_j, -(j + 1) for -l1 e_j
    std::vector<std::int64_t> screened;     ///< columns, in the order in which they were screened
    std::vector<std::int64_t> screened_at;  ///< the step after which
};

/// One vertex of the l1 ball over the columns that `bounds` has, drawn with probability
/// proportional to exp(epsilon s / vertex_score_range(l1)), s = -g_j for +l1 e_j and +g_j
/// for -l1 e_j.
///
/// Domain   epsilon in [kLeastStepEpsilon, kLargestStepEpsilon]; some column was not removed;
///          `bounds` has followed every step of `gradient`, and tracks all active columns or was
///          made for this epsilon or a larger one.
/// Returns  j + 1 or -(j + 1), as in FrankWolfeRun::path.
/// Privacy  for a given point w, within 2^-960 in total variation of a choice of bounded range
///          epsilon, hence epsilon-DP and epsilon^2 / 8-zCDP, under addition or removal of
///          one record (frank_wolfe.md, Theorem 1).
/// Cost     one pass over the groups; an expected number of proposals and refreshed groups as in
///          vertex_bounds.md.
std::int64_t draw_vertex(const L1Gradient& gradient, VertexBounds& bounds, double epsilon,
                         BitSource& bits);

/// A uniformly random point of the l1 ball, in units of 1 / kStartWeight.
std::vector<std::int32_t> random_start(std::size_t d, BitSource& bits);

/// Frank-Wolfe for least squares on the l1 ball with private steps (Talwar, Thakurta and
/// Zhang, 2015) and private screening.
///
/// Domain   1 to kMaxSteps steps; epsilons in [kLeastStepEpsilon, kLargestStepEpsilon].
/// Privacy  within 2^-900 in total variation of steps * epsilon_step^2 / 8 +
///          k * screening.epsilon^2 / 8 -zCDP under addition or removal of one record,
///          k = screening.after.size(), times cols for ScreenRule::kEach
///          (frank_wolfe.md, Theorem 2).
/// Cost     a step takes a draw, and the rows in which the chosen column is not 0: of their
///          entries those in tracked columns (vertex_bounds.hpp).
/// Throws   InvalidArgument on a domain violation; EntropyError.
FrankWolfeRun dp_frank_wolfe(L1Gradient& gradient, std::size_t steps, double epsilon_step,
                             const Screening& screening, BitSource& bits);

/// The same with exact vertices: **not private**.  Ties go to the first column.
FrankWolfeRun frank_wolfe(L1Gradient& gradient, std::size_t steps);

}  // namespace dpreg
