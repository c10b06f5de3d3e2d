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
    const auto coefficients =
        fit_lasso_batches(x, y, assignment, unit_offsets, unit_rows, lasso, threads);
    return peel(count_votes(coefficients, x.cols, k), k, kVoteRange, epsilon, bits);
}

}  // namespace dpreg
