#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/matrix.hpp"
#include "dpreg/noise/assignment.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/batch_lasso.hpp"

namespace dpreg {

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
