#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/tukey_em.hpp"
#include "dpreg/stats/batch_fit.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

void register_depth(py::module_& m) {
    m.attr("DEPTH_SENSITIVITY") = kDepthSensitivity;
    py::class_<DepthRegions>(m, "DepthRegions")
        .def(py::init([](const MatrixView& points, int grid_exponent) {
                 return DepthRegions(row_major(points), points.rows, points.cols, grid_exponent);
             }),
             "points"_a, "grid_exponent"_a)
        .def_property_readonly("points", &DepthRegions::points)
        .def_property_readonly("dimension", &DepthRegions::dimension)
        .def_property_readonly("max_depth", &DepthRegions::max_depth)
        .def(
            "log_volume",
            [](const DepthRegions& regions, std::size_t depth) {
                require(depth <= regions.max_depth(), "no such depth");
                return regions.log_volume(depth);
            },
            "depth"_a)
        .def(
            "side",
            [](const DepthRegions& regions, std::size_t depth, std::size_t j) {
                require(depth >= 1 && depth <= regions.max_depth() && j < regions.dimension(),
                        "no such side");
                const auto side = regions.side(depth, j);
                const int e = regions.grid_exponent();
                return py::make_tuple(from_grid(side.low, e), from_grid(side.high, e));
            },
            "depth"_a, "j"_a)
        .def_static("rounding_error", &DepthRegions::rounding_error, "m"_a, "p"_a, "epsilon"_a);
    m.def("distance_to_unsafety", &distance_to_unsafety, "regions"_a, "epsilon"_a, "t"_a,
          "delta"_a);
}

}  // namespace

void register_tukey(py::module_& m) {
    m.def(
        "fit_batches",
        [](const MatrixView& x, const VectorView& y, const Assignment& assignment,
           Indices unit_offsets, Indices unit_rows, double ridge, std::size_t refinements,
           bool intercept, bool log_spreads) {
            const auto units = grouping(std::move(unit_offsets), std::move(unit_rows));
            const BatchFit options{ridge, refinements, intercept, log_spreads};
            const auto models =
                without_gil([&] { return fit_batches(x, y, assignment, units, options); });
            return to_matrix(models, assignment.offsets.size() - 1, options.vector_size(x.cols));
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "ridge"_a, "refinements"_a, "intercept"_a, "log_spreads"_a);
    register_depth(m);
    m.def("choose_index", &choose_index, "log_weights"_a, "bits"_a);
    m.def("release_threshold", &release_threshold, "epsilon"_a, "delta"_a);
    m.def("passes_release_test", &passes_release_test, "distance"_a, "epsilon"_a, "delta"_a,
          "bits"_a);
    m.def("rounding_is_paid", &rounding_is_paid, "models"_a, "dimension"_a, "epsilon_sample"_a);
    m.def(
        "tukey_em",
        [](const DepthRegions& regions, std::size_t depth, double epsilon_test,
           double epsilon_sample, double delta, BitSource& bits) {
            return tukey_em(regions, {depth, epsilon_test, epsilon_sample, delta}, bits);
        },
        "regions"_a, py::kw_only(), "depth"_a, "epsilon_test"_a, "epsilon_sample"_a, "delta"_a,
        "bits"_a);
}
