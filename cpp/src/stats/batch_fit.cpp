#include "dpreg/stats/batch_fit.hpp"

#include <cmath>

#include "batch_solver.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {

double mean_weight(std::size_t i) {
    const double turns = static_cast<double>(i + 1) * 0.6180339887498949;
    return 0.5 + (turns - std::floor(turns));
}

std::size_t BatchFit::vector_size(std::size_t d) const {
    const std::size_t coefficients = d + (intercept ? d + 1 : 0);
    return coefficients + (log_spreads ? d + (intercept ? 1 : 0) : 0);
}

std::vector<double> fit_batches(const MatrixView& x, const VectorView& y,
                                const Assignment& assignment, const Grouping& units,
                                const BatchFit& options) {
    require(x.rows == y.size, "X and y must have the same number of rows");
    check_members(assignment, units, x.rows);
    const std::size_t models = assignment.offsets.size() - 1;
    const std::size_t size = options.vector_size(x.cols);
    std::vector<double> result(models * size);
    parallel_ranges(models, [&](std::size_t begin, std::size_t end) {
        BatchSolver solver(x, y, options);
        for (std::size_t g = begin; g < end; ++g) {
            solver.fit(assignment, units, g, g % 2 == 0 ? 1.0 : -1.0, result.data() + g * size);
        }
    });
    return result;
}

}  // namespace dpreg
