#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/groups.hpp"

namespace dpreg {

/// How one batch of rows becomes one model vector.  All public.
struct BatchFit {
    /// Added to the diagonal of the batch's own correlation matrix.
    double ridge = 0.03;
    /// Steps of iterated Tikhonov regularisation after the first: they leave a
    /// relative bias of (ridge / (ridge + e))^(1 + refinements) along an eigenvector
    /// of the correlation matrix with eigenvalue e.
    std::size_t refinements = 4;
    /// Centre the columns and report means, instead of fitting through the origin.
    bool intercept = true;
    /// Append the logarithm of a spread for each slope and for the intercept, and give
    /// a column that is constant or (up to the ridge) collinear within a batch an infinite
    /// slope, with a sign that alternates between models, and the largest spread: it then
    /// carries no information about the median.
    bool log_spreads = false;

    /// Length of the model vector for `d` columns.
    std::size_t vector_size(std::size_t d) const;
};

/// Weight in [0.5, 1.5) of row i of a batch: 0.5 plus the fraction of (i + 1) golden ratios.
double mean_weight(std::size_t i);

/// One least-squares fit for each model of `assignment`, a row of the result each
/// (row-major, models x vector_size):
///
///   slopes (d) [, mean of y, means of x (d)] [, log spreads of the slopes (d)
///   [, log spread of the intercept]]
///
/// in the units of y and x; brackets follow `options`.  Row i of a batch counts
/// mean_weight(i) times in the means, so that they have no ties.
///
/// The spread of slope j is |sum over units of +-score_j|, signs alternating in the
/// order of the assignment, scores HC2 and summed over the rows of a unit: a draw
/// that is about as far from 0 as the slope is from what it estimates, whatever the
/// law of the errors (a wild bootstrap of size one).  Where a leverage is 1 the
/// residual is uninformative and replaced by the root mean square residual.  The spread
/// of the intercept is the root of the sum of the HC2 variances of its parts.
///
/// Domain   total: every cell may be any double.  Rows with a cell that is not finite
///          are skipped; with fewer than two rows left every column is constant;
///          results may be infinite (also by overflow in the units of the caller) but
///          never NaN.
/// Privacy  none by itself.  A model is a function of the rows of its own units and
///          their order, so one unit moves one model.
/// Cost     O(n d^2 + models d^3) time, O(threads * (batch + d) d) scratch.
/// Throws   InvalidArgument if a member of `assignment` is no unit.
std::vector<double> fit_batches(const MatrixView& x, const VectorView& y,
                                const Assignment& assignment, const Grouping& units,
                                const BatchFit& options);

}  // namespace dpreg
