#include "dpreg/stats/batch_fit.hpp"
#include "dpreg/stats/depth.hpp"
#include "dpreg/stats/safety.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using dpreg::bind::Array;
using dpreg::bind::IndexArray;

Array fit_batches(const Array& x, const Array& y, const dpreg::Assignment& assignment,
                  const dpreg::bind::UnitRows& units, const dpreg::BatchFit& options,
                  std::size_t threads) {
    const auto xv = dpreg::bind::matrix_view(x);
    const auto yv = dpreg::bind::vector_view(y);
    dpreg::require(xv.rows == yv.size, "X and y must have the same number of rows");
    const auto models = dpreg::bind::without_gil([&] {
        return dpreg::fit_batches(xv, yv, assignment, units.offset_data(), units.row_data(),
                                  options, threads);
    });
    return dpreg::bind::to_matrix(models, assignment.offsets.size() - 1,
                                  options.vector_size(xv.cols));
}

void register_batch_fit(py::module_& m) {
    m.def(
        "fit_batches",
        [](const Array& x, const Array& y, const dpreg::Assignment& assignment,
           std::optional<IndexArray> unit_offsets, std::optional<IndexArray> unit_rows,
           double ridge, std::size_t refinements, bool intercept, bool log_spreads,
           std::size_t threads) {
            return fit_batches(x, y, assignment, {std::move(unit_offsets), std::move(unit_rows)},
                               {ridge, refinements, intercept, log_spreads}, threads);
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "ridge"_a, "refinements"_a, "intercept"_a, "log_spreads"_a,
        "threads"_a = 0);
}

void register_depth(py::module_& m) {
    m.attr("DEPTH_SENSITIVITY") = dpreg::kDepthSensitivity;
    py::class_<dpreg::DepthRegions>(m, "DepthRegions")
        .def(py::init([](const Array& points, int grid_exponent) {
                 const auto view = dpreg::bind::matrix_view(points);
                 std::vector<double> values(view.rows * view.cols);
                 for (std::size_t i = 0; i < view.rows; ++i) {
                     for (std::size_t j = 0; j < view.cols; ++j) {
                         values[i * view.cols + j] = view(i, j);
                     }
                 }
                 return dpreg::DepthRegions(values, view.rows, view.cols, grid_exponent);
             }),
             "points"_a, "grid_exponent"_a)
        .def_property_readonly("points", &dpreg::DepthRegions::points)
        .def_property_readonly("dimension", &dpreg::DepthRegions::dimension)
        .def_property_readonly("max_depth", &dpreg::DepthRegions::max_depth)
        .def("log_volume", &dpreg::DepthRegions::log_volume, "depth"_a)
        .def(
            "side",
            [](const dpreg::DepthRegions& regions, std::size_t depth, std::size_t j) {
                dpreg::require(
                    depth >= 1 && depth <= regions.max_depth() && j < regions.dimension(),
                    "no such side");
                const auto side = regions.side(depth, j);
                const int e = regions.grid_exponent();
                return py::make_tuple(dpreg::from_grid(side.low, e),
                                      dpreg::from_grid(side.high, e));
            },
            "depth"_a, "j"_a)
        .def_static("rounding_error", &dpreg::DepthRegions::rounding_error, "m"_a, "p"_a,
                    "epsilon"_a);
    m.def("distance_to_unsafety", &dpreg::distance_to_unsafety, "regions"_a, "epsilon"_a, "t"_a,
          "delta"_a);
}

}  // namespace

void register_stats(py::module_& m) {
    register_batch_fit(m);
    register_depth(m);
}
