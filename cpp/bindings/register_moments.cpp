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
    auto room = recycled(rows * columns * sizeof(double));
    auto* const numbers = reinterpret_cast<double*>(room.get());
    auto held = std::make_unique<Recycled>(std::move(room));
    const py::capsule owner(held.get(),
                            [](void* memory) { delete static_cast<Recycled*>(memory); });
    held.release();
    return Array({rows, columns}, numbers, owner);
}

void register_side_by_side(py::module_& m) {
    m.def(
        "side_by_side",
        [](const std::vector<Array>& columns, std::size_t count) {
            std::vector<VectorView> views;
            for (const auto& column : columns) views.push_back(vector_view(column));
            Array rows = recycled_array(count, columns.size());
            py::array_t<bool> finite(static_cast<py::ssize_t>(count));
            double* const to = rows.mutable_data();
            bool* const answers = finite.mutable_data();
            without_gil([&] {
                side_by_side(views, count, to, answers);
                return 0;
            });
            return py::make_tuple(rows, finite);
        },
        "columns"_a, "count"_a);
}

void register_column_counts(py::module_& m) {
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
        [](const MatrixView& x, const std::vector<double>& low, const std::vector<double>& high,
           std::size_t bins) {
            const auto counts = without_gil([&] { return interval_counts(x, low, high, bins); });
            return to_matrix(counts, x.cols, bins + 1);
        },
        "x"_a, "low"_a, "high"_a, "bins"_a);
    m.def(
        "moment_sums",
        [](const MatrixView& x, const std::vector<double>& middle,
           const std::vector<double>& half) {
            return array_without_gil([&] { return moment_sums(x, middle, half); });
        },
        "x"_a, "middle"_a, "half"_a);
}

void register_tail_votes(py::module_& m) {
    m.def("tail_votes_sensitivity", &tail_votes_sensitivity, "sets"_a);
    m.def(
        "tail_votes",
        [](const MatrixView& x, const VectorView& y, const std::vector<double>& slopes,
           double intercept, const std::vector<std::vector<double>>& low,
           const std::vector<std::vector<double>>& high, double unit) {
            require(low.size() == high.size(), "low and high must have as many sets");
            std::vector<Limits> limits;
            for (std::size_t k = 0; k < low.size(); ++k) limits.push_back({low[k], high[k]});
            return array_without_gil(
                [&] { return tail_votes(x, y, {slopes, intercept}, limits, unit); });
        },
        "x"_a, "y"_a, "slopes"_a, "intercept"_a, py::kw_only(), "low"_a, "high"_a, "unit"_a);
}

}  // namespace

void register_moments(py::module_& m) {
    register_side_by_side(m);
    register_column_counts(m);
    register_tail_votes(m);
}
