#include <optional>

#include "dpreg/linalg/instructions.hpp"
#include "dpreg/stats/batch_fit.hpp"
#include "dpreg/stats/depth.hpp"
#include "dpreg/stats/safety.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using dpreg::bind::Array;
using dpreg::bind::IndexArray;

/// The rows of each unit, as two index arrays; both empty when a unit is a row.
struct UnitRows {
    std::optional<IndexArray> offsets;
    std::optional<IndexArray> rows;

    const std::size_t* offset_data() const { return offsets ? offsets->data() : nullptr; }
    const std::size_t* row_data() const { return rows ? rows->data() : nullptr; }
};

Array fit_batches(const Array& x, const Array& y, const dpreg::Assignment& assignment,
                  const UnitRows& units, const dpreg::BatchFit& options, std::size_t threads) {
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
    m.attr("SAFETY_SENSITIVITY") = dpreg::kSafetySensitivity;
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
    m.def("log_region_weights", &dpreg::log_region_weights, "regions"_a, "epsilon"_a);
    m.def("distance_to_unsafety", &dpreg::distance_to_unsafety, "regions"_a, "epsilon"_a, "t"_a,
          "delta"_a);
}

void register_instructions(py::module_& m) {
    py::enum_<dpreg::Instructions>(m, "Instructions")
        .value("portable", dpreg::Instructions::portable)
        .value("avx2", dpreg::Instructions::avx2)
        .value("avx512", dpreg::Instructions::avx512)
        .value("vnni", dpreg::Instructions::vnni);
    m.def("instruction_sets", &dpreg::instruction_sets);
    m.def("instructions_in_use", &dpreg::instructions_in_use);
    m.def("use_instructions", &dpreg::use_instructions, "choice"_a);
}

}  // namespace

void register_stats(py::module_& m) {
    register_instructions(m);
    register_batch_fit(m);
    register_depth(m);
}
