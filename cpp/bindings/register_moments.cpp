#include <memory>
#include <vector>

#include "dpreg/recycled.hpp"
#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/side_by_side.hpp"
#include "dpreg/stats/tail_votes.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

/// A matrix of doubles, which hold anything at first.
Array recycled_array(std::size_t rows, std::size_t columns) {
    auto held = std::make_unique<Recycled>(recycled(rows * columns * sizeof(double)));
    auto* const numbers = reinterpret_cast<double*>(held->get());
    const py::capsule owner(held.get(),
                            [](void* memory) { delete static_cast<Recycled*>(memory); });
    held.release();
    return Array({rows, columns}, numbers, owner);
}

using Numbers = std::vector<double>;

}  // namespace

void register_moments(py::module_& m) {
    m.def(
        "side_by_side",
        [](const std::vector<Array>& columns, std::size_t count) {
            std::vector<VectorView> views;
            for (const auto& column : columns) views.push_back(vector_view(column));
            Array rows = recycled_array(count, columns.size());
            py::array_t<bool> finite(static_cast<py::ssize_t>(count));
            double* const to = rows.mutable_data();
            bool* const answers = finite.mutable_data();
            without_gil([&] { side_by_side(views, count, to, answers); });
            return py::make_tuple(rows, finite);
        },
        "columns"_a, "count"_a);
    m.attr("LEAST_EXPONENT") = kLeastExponent;
    m.attr("MOMENT_BITS") = kMomentBits;
    m.def("counts_sensitivity", &counts_sensitivity, "weights"_a);
    m.def("moments_sensitivity", &moments_sensitivity, "weights"_a);
    m.def(
        "magnitude_counts",
        [](const MatrixView& x) {
            const auto counts = without_gil([&] { return magnitude_counts(x); });
            return to_matrix(counts, x.cols, kMagnitudeCells);
        },
        "x"_a);
    m.def(
        "interval_counts",
        [](const MatrixView& x, const Numbers& low, const Numbers& high, std::size_t bins) {
            const auto counts = without_gil([&] { return interval_counts(x, low, high, bins); });
            return to_matrix(counts, x.cols, bins + 1);
        },
        "x"_a, "low"_a, "high"_a, "bins"_a);
    m.def("moment_sums", &moment_sums, "x"_a, "middle"_a, "half"_a, Released());
    m.def("tail_votes_sensitivity", &tail_votes_sensitivity, "sets"_a);
    m.def(
        "tail_votes",
        [](const MatrixView& x, const VectorView& y, const Numbers& slopes, double intercept,
           const std::vector<Numbers>& low, const std::vector<Numbers>& high, double unit) {
            require(low.size() == high.size(), "low and high must have as many sets");
            std::vector<Limits> limits;
            for (std::size_t k = 0; k < low.size(); ++k) limits.push_back({low[k], high[k]});
            return tail_votes(x, y, {slopes, intercept}, limits, unit);
        },
        "x"_a, "y"_a, "slopes"_a, "intercept"_a, py::kw_only(), "low"_a, "high"_a, "unit"_a,
        Released());
}
