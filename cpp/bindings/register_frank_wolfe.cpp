#include <cstdint>

#include "dpreg/mechanisms/frank_wolfe.hpp"
#include "dpreg/mechanisms/grouped_exponential.hpp"
#include "dpreg/stats/l1_gradient.hpp"
#include "dpreg/stats/screening.hpp"
#include "dpreg/stats/unit_design.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using dpreg::BitSource;
using dpreg::L1Gradient;
using dpreg::UnitDesign;
using dpreg::bind::Array;

template <class T>
using Contiguous = py::array_t<T, py::array::c_style | py::array::forcecast>;
using Mask = Contiguous<std::uint8_t>;

/// The arrays of a sparse matrix, kept alive; copied only if they have another type.
struct SparseArrays {
    Contiguous<std::int64_t> row_start;
    Contiguous<std::int32_t> columns;
    Contiguous<double> values;

    dpreg::SparseView view(std::size_t cols) const {
        dpreg::require(row_start.size() >= 1, "X: a sparse matrix needs row starts");
        dpreg::require(columns.size() == values.size(),
                       "X: a sparse matrix needs one column index a value");
        return {row_start.data(),
                columns.data(),
                values.data(),
                static_cast<std::size_t>(row_start.size()) - 1,
                cols,
                static_cast<std::size_t>(values.size())};
    }
};

class NumpySparseDesign final : private SparseArrays, public dpreg::SparseUnitDesign {
public:
    NumpySparseDesign(const SparseArrays& arrays, std::size_t cols)
        : SparseArrays(arrays), SparseUnitDesign(SparseArrays::view(cols)) {}
};

py::int_ to_int(dpreg::int128 x) {
    const auto high = py::int_(static_cast<std::int64_t>(x >> 64));
    return py::int_((high << py::int_(64)) + py::int_(static_cast<std::uint64_t>(x)));
}

std::vector<std::uint8_t> to_mask(const Mask& active, const L1Gradient& gradient) {
    dpreg::require(static_cast<std::size_t>(active.size()) == gradient.cols(),
                   "active must have one entry a column");
    return {active.data(), active.data() + active.size()};
}

void register_design(py::module_& m) {
    m.attr("CELL_BITS") = dpreg::kCellBits;
    m.attr("RESPONSE_BITS") = dpreg::kResponseBits;
    py::class_<UnitDesign>(m, "UnitDesign")
        .def_property_readonly("rows", &UnitDesign::rows)
        .def_property_readonly("cols", &UnitDesign::cols);
    py::class_<dpreg::DenseUnitDesign, UnitDesign>(m, "DenseUnitDesign")
        .def(py::init([](const Array& x) {
                 const auto view = dpreg::bind::matrix_view(x);
                 const py::gil_scoped_release release;
                 return std::make_unique<dpreg::DenseUnitDesign>(view);
             }),
             "x"_a);
    py::class_<NumpySparseDesign, UnitDesign>(m, "SparseUnitDesign")
        .def(py::init([](const Contiguous<std::int64_t>& row_start,
                         const Contiguous<std::int32_t>& columns, const Contiguous<double>& values,
                         std::size_t cols) {
                 return std::make_unique<NumpySparseDesign>(
                     SparseArrays{row_start, columns, values}, cols);
             }),
             "row_start"_a, "columns"_a, "values"_a, "cols"_a);
}

void register_gradient(py::module_& m) {
    m.attr("MAX_STEPS") = dpreg::kMaxSteps;
    m.attr("START_WEIGHT") = dpreg::kStartWeight;
    m.def("l1_gradient_sensitivity", &dpreg::l1_gradient_sensitivity, "l1"_a);
    m.def("vertex_score_range", &dpreg::vertex_score_range, "l1"_a);
    py::class_<L1Gradient>(m, "L1Gradient")
        .def(py::init([](UnitDesign& design, const Array& y, double l1,
                         std::vector<std::int64_t> start) {
                 const auto view = dpreg::bind::vector_view(y);
                 const py::gil_scoped_release release;
                 const auto responses = dpreg::to_responses(view, l1);
                 if (start.empty()) start.resize(design.cols());
                 return std::make_unique<L1Gradient>(design, responses, l1, std::move(start));
             }),
             py::keep_alive<1, 2>(), "design"_a, "y"_a, py::kw_only(), "l1"_a,
             "start"_a = std::vector<std::int64_t>())
        .def(
            "step",
            [](L1Gradient& gradient, std::size_t j, bool positive) {
                dpreg::require(j < gradient.cols(), "no such column");
                gradient.step(j, positive);
            },
            "j"_a, "positive"_a)
        .def(
            "drop",
            [](L1Gradient& gradient, std::size_t j) {
                dpreg::require(j < gradient.cols(), "no such column");
                gradient.drop(j);
            },
            "j"_a)
        .def("numerators",
             [](const L1Gradient& gradient) {
                 py::list numerators;
                 for (std::size_t j = 0; j < gradient.cols(); ++j) {
                     numerators.append(to_int(gradient.numerator(j)));
                 }
                 return numerators;
             })
        .def_property_readonly("denominator", &L1Gradient::denominator)
        .def("values",
             [](const L1Gradient& gradient) { return dpreg::bind::to_array(gradient.values()); })
        .def("weights",
             [](const L1Gradient& gradient) { return dpreg::bind::to_array(gradient.weights()); })
        .def(
            "wolfe_gap",
            [](const L1Gradient& gradient, const Mask& active) {
                return gradient.wolfe_gap(to_mask(active, gradient));
            },
            "active"_a);
}

void register_screening(py::module_& m) {
    m.attr("SCREENING_RANGE") = dpreg::kScreeningRange;
    m.attr("SCREENING_FALL") = dpreg::kScreeningFall;
    m.attr("SCREENING_RISE") = dpreg::kScreeningRise;
    m.attr("SCREENING_ROUNDING") = dpreg::kScreeningRounding;
    m.def(
        "screening_scores",
        [](const L1Gradient& gradient, const Mask& active) {
            return dpreg::bind::to_array(
                dpreg::screening_scores(gradient, to_mask(active, gradient)));
        },
        "gradient"_a, "active"_a);
}

py::dict to_dict(const dpreg::FrankWolfeRun& run) {
    return py::dict("weights"_a = dpreg::bind::to_array(run.weights),
                    "path"_a = dpreg::bind::to_array(run.path),
                    "screened"_a = dpreg::bind::to_array(run.screened),
                    "screened_at"_a = dpreg::bind::to_array(run.screened_at));
}

void register_loop(py::module_& m) {
    py::enum_<dpreg::ScreenRule>(m, "ScreenRule")
        .value("NONE", dpreg::ScreenRule::kNone)
        .value("ONE", dpreg::ScreenRule::kOne)
        .value("EACH", dpreg::ScreenRule::kEach);
    m.def(
        "random_start",
        [](std::size_t d, BitSource& bits) {
            return dpreg::bind::to_array(dpreg::random_start(d, bits));
        },
        "d"_a, "bits"_a);
    m.def(
        "choose_among",
        [](const Array& log_weights, BitSource& bits) {
            return dpreg::choose_among(dpreg::bind::to_vector(log_weights), bits);
        },
        "log_weights"_a, "bits"_a);
    m.def(
        "draw_vertex",
        [](const L1Gradient& gradient, const Mask& active, double epsilon, BitSource& bits) {
            return dpreg::draw_vertex(gradient, to_mask(active, gradient), epsilon, bits);
        },
        "gradient"_a, "active"_a, "epsilon"_a, "bits"_a);
    m.def(
        "dp_frank_wolfe",
        [](L1Gradient& gradient, std::size_t steps, double epsilon_step, dpreg::ScreenRule rule,
           std::vector<std::size_t> after, double epsilon_screen, double margin, BitSource& bits) {
            dpreg::FrankWolfeRun run;
            {
                const py::gil_scoped_release release;
                run = dpreg::dp_frank_wolfe(gradient, steps, epsilon_step,
                                            {rule, std::move(after), epsilon_screen, margin}, bits);
            }
            return to_dict(run);
        },
        "gradient"_a, py::kw_only(), "steps"_a, "epsilon_step"_a,
        "rule"_a = dpreg::ScreenRule::kNone, "after"_a = std::vector<std::size_t>(),
        "epsilon_screen"_a = 0.0, "margin"_a = 0.0, "bits"_a);
    m.def(
        "frank_wolfe",
        [](L1Gradient& gradient, std::size_t steps) {
            dpreg::FrankWolfeRun run;
            {
                const py::gil_scoped_release release;
                run = dpreg::frank_wolfe(gradient, steps);
            }
            return to_dict(run);
        },
        "gradient"_a, py::kw_only(), "steps"_a);
}

}  // namespace

void register_frank_wolfe(py::module_& m) {
    register_design(m);
    register_gradient(m);
    register_screening(m);
    register_loop(m);
}
