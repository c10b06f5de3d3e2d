#include "dpreg/mechanisms/sub_lasso.hpp"

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/peel.hpp"

namespace dpreg {

std::vector<std::size_t> sub_lasso(const MatrixView& x, const VectorView& y,
                                   const Assignment& assignment, const std::size_t* unit_offsets,
                                   const std::size_t* unit_rows, const BatchLasso& lasso,
                                   std::size_t k, double epsilon, BitSource& bits,
                                   std::size_t threads) {
    require(k >= 1 && k <= x.cols, "k must be between 1 and the number of columns");
    const auto votes = lasso_votes(x, y, assignment, unit_offsets, unit_rows, lasso, k, threads);
    return peel(votes, k, kVoteRange, epsilon, bits);
}

}  // namespace dpreg
