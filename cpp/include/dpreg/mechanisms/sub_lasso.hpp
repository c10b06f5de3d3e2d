#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/groups.hpp"

namespace dpreg {

/// Whether the columns and the response are scaled to variance 1 within a batch.
enum class BatchScaling : std::uint8_t { kUnitVariance, kNone };

/// How one batch of rows becomes one Lasso fit.  All public.
struct BatchLasso {
    /// lambda of  (1 / 2b) ||y - Z w||^2 + lambda ||w||_1,  b the rows of the batch.
    double penalty = 0.1;
    BatchScaling scaling = BatchScaling::kUnitVariance;
};

/// Lasso coefficients of each model of `assignment`, row-major, models x d.  Z and y are
/// centred within the batch: there is no intercept to vote for.  Under kUnitVariance the
/// coefficients are in standard deviations of y for one of x, else in the units of the caller.
///
/// Domain   total: every cell may be any double.  Rows with a cell that is not finite are
///          passed over; a column that is constant in the batch has coefficient 0, and so have
///          all if y is constant or fewer than two rows are left.  Never NaN.
/// Privacy  none by itself.  A model is a function of the rows of its own units and their
///          order, so one unit moves one model.
/// Cost     O(rows of the batch * d) a pass and model; O(threads * batch * d) scratch.
/// Throws   InvalidArgument if a member of `assignment` is no unit.
std::vector<double> fit_lasso_batches(const MatrixView& x, const VectorView& y,
                                      const Assignment& assignment, const Grouping& units,
                                      const BatchLasso& options);

/// Largest change of a vote count when one model is replaced; attained.
inline constexpr double kVoteSensitivity = 1.0;

/// Length of the interval that holds the changes of all vote counts when one model is
/// replaced: up to k counts fall by 1 and up to k rise by 1; attained (sub_lasso.md, Lemma 1).
inline constexpr double kVoteRange = 2.0;

/// For each of d columns, how many of the models have it among their k largest coefficients in
/// absolute value.  A coefficient of 0 gets no vote, so a model casts at most k; of equal ones
/// the first columns get them.
///
/// Domain   coefficients without NaN, row-major with d columns; k >= 1.
/// Privacy  none by itself; kVoteSensitivity and kVoteRange when one model is replaced.
std::vector<double> count_votes(const std::vector<double>& coefficients, std::size_t d,
                                std::size_t k);

/// The votes of `fit_lasso_batches`, without keeping its coefficients: O(threads * batch * d)
/// memory however many models there are.  A model votes for the k groups with the largest
/// coefficients in absolute value; that of a group is the largest of its columns.
std::vector<double> lasso_votes(const MatrixView& x, const VectorView& y,
                                const Assignment& assignment, const Grouping& units,
                                const ColumnGroups& groups, const BatchLasso& options,
                                std::size_t k);

/// SubLasso (Kifer, Smith and Thakurta, 2012; Dick et al., 2023, Algorithm 2): each model of
/// `assignment` votes for the k columns, or groups of columns, with the largest Lasso coefficients
/// on its own rows, and k of them are peeled from the votes.
///
/// Domain   groups of the columns of x; 1 <= k <= groups.size(); epsilon / k in [2^-38, 2^20];
///          every cell may be any double.
/// Returns  k distinct groups, in the order they were chosen.
/// Privacy  epsilon-DP under addition or removal of one unit, when `assignment` is a fresh
///          draw of assign_to_slots or assign_independently, of public size.  Proof: sub_lasso.md.
/// Throws   InvalidArgument on a domain violation; EntropyError.
std::vector<std::size_t> sub_lasso(const MatrixView& x, const VectorView& y,
                                   const Assignment& assignment, const Grouping& units,
                                   const ColumnGroups& groups, const BatchLasso& lasso,
                                   std::size_t k, double epsilon, BitSource& bits);

}  // namespace dpreg
