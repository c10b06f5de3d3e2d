#include "dpreg/mechanisms/sub_lasso.hpp"

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/peel.hpp"

namespace dpreg {

std::vector<std::size_t> sub_lasso(const MatrixView& x, const VectorView& y,
                                   const Assignment& assignment, const Grouping& units,
                                   const ColumnGroups& groups, const BatchLasso& lasso,
                                   std::size_t k, double epsilon, BitSource& bits) {
    require(k >= 1 && k <= groups.size(),
            "k must be between 1 and the number of groups of columns");
    require(groups.end(groups.size() - 1) == x.cols, "groups must be of the columns of x");
    const auto votes = lasso_votes(x, y, assignment, units, groups, lasso, k);
    return peel(votes, k, kVoteRange, epsilon, bits);
}

}  // namespace dpreg
