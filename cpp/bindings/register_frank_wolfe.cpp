#include <cstdint>
#include <cstdlib>
#include <map>
#include <new>

#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/frank_wolfe.hpp"
#include "dpreg/stats/l1_gradient.hpp"
#include "dpreg/stats/unit_design.hpp"
#include "dpreg/stats/vertex_bounds.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

using Mask = std::vector<std::uint8_t>;

/// The arrays of a sparse matrix, kept alive; copied only if they have another type.
struct SparseArrays {
    Contiguous<std::int64_t> row_start;
    Contiguous<std::int32_t> columns;
    Contiguous<double> values;

    SparseView view(std::size_t cols) const {
        require(row_start.size() >= 1, "X: a sparse matrix needs row starts");
        require(columns.size() == values.size(),
                "X: a sparse matrix needs one column index a value");
        return {row_start.data(),
                columns.data(),
                values.data(),
                static_cast<std::size_t>(row_start.size()) - 1,
                cols,
                static_cast<std::size_t>(values.size())};
    }
};

class NumpySparseDesign final : private SparseArrays, public SparseUnitDesign {
public:
    NumpySparseDesign(const SparseArrays& arrays, std::size_t cols)
        : SparseArrays(arrays), SparseUnitDesign(SparseArrays::view(cols)) {}
};

const Mask& checked(const Mask& active, const L1Gradient& gradient) {
    require(active.size() == gradient.cols(), "active must have one entry a column");
    return active;
}

void register_design(py::module_& m) {
    py::class_<UnitDesign>(m, "UnitDesign")
        .def_property_readonly("rows", &UnitDesign::rows)
        .def_property_readonly("cols", &UnitDesign::cols);
    py::class_<DenseUnitDesign, UnitDesign>(m, "DenseUnitDesign")
        .def(py::init<const MatrixView&>(), "x"_a, Released());
    py::class_<NumpySparseDesign, UnitDesign>(m, "SparseUnitDesign")
        .def(py::init([](const Contiguous<std::int64_t>& row_start,
                         const Contiguous<std::int32_t>& columns, const Contiguous<double>& values,
                         std::size_t cols) {
                 return std::make_unique<NumpySparseDesign>(
                     SparseArrays{row_start, columns, values}, cols);
             }),
             "row_start"_a, "columns"_a, "values"_a, "cols"_a);
}

Array to_weights(const L1Gradient& gradient) {
    // Untouched pages of zeros from the system take no memory; numpy would request huge pages.
    void* zeros = std::calloc(gradient.cols(), sizeof(double));
    if (zeros == nullptr) throw std::bad_alloc();
    const py::capsule owner(zeros, [](void* memory) { std::free(memory); });
    Array weights(static_cast<py::ssize_t>(gradient.cols()), static_cast<double*>(zeros), owner);
    gradient.write_weights(weights.mutable_data());
    return weights;
}

std::vector<int128> to_numerators(L1Gradient& gradient) {
    std::vector<int128> numerators;
    for (std::size_t j = 0; j < gradient.cols(); ++j) numerators.push_back(gradient.numerator(j));
    return numerators;
}

std::vector<double> to_values(L1Gradient& gradient) {
    std::vector<double> values;
    for (const int128 numerator : to_numerators(gradient)) {
        values.push_back(static_cast<double>(numerator) * gradient.scale());
    }
    return values;
}

void register_gradient(py::module_& m) {
    m.attr("START_WEIGHT") = kStartWeight;
    m.def("vertex_score_range", &vertex_score_range, "l1"_a);
    py::class_<L1Gradient>(m, "L1Gradient")
        .def(py::init([](const UnitDesign& design, const VectorView& y, double l1,
                         const std::vector<std::int32_t>& start) {
                 // Not `Released`: pybind11 enters what is returned into its list of objects.
                 return without_gil([&] {
                     return std::make_unique<L1Gradient>(design, to_responses(y, l1), l1, start);
                 });
             }),
             py::keep_alive<1, 2>(), "design"_a, "y"_a, py::kw_only(), "l1"_a,
             "start"_a = std::vector<std::int32_t>())
        .def("step", &L1Gradient::step, "j"_a, "positive"_a)
        .def("drop", &L1Gradient::drop, "j"_a)
        .def("numerators", &to_numerators)
        .def("reach", &L1Gradient::reach, "j"_a)
        .def_property_readonly(
            "tracked", [](const L1Gradient& gradient) { return gradient.tracked().columns(); })
        .def_property_readonly("touched", &L1Gradient::touched)
        .def_property_readonly("total", &L1Gradient::total)
        .def_property_readonly("denominator", &L1Gradient::denominator)
        .def("values", &to_values)
        .def("weights", &to_weights)
        .def(
            "wolfe_gap",
            [](L1Gradient& gradient, const Mask& active) {
                return gradient.wolfe_gap(gradient.scaled_values(), checked(active, gradient));
            },
            "active"_a);
}

void check_group(const VertexBounds& bounds, std::size_t g) {
    require(g < bounds.size(), "no such group");
}

void register_bounds(py::module_& m) {
    py::class_<VertexBounds>(m, "VertexBounds")
        .def(py::init<L1Gradient&, double>(), py::keep_alive<1, 2>(), "gradient"_a, "epsilon"_a)
        .def(py::init([](L1Gradient& gradient, const Mask& active) {
                 return VertexBounds(gradient, checked(active, gradient));
             }),
             py::keep_alive<1, 2>(), "gradient"_a, py::kw_only(), "active"_a)
        .def("bounds",
             [](const VertexBounds& bounds) {
                 std::vector<int128> all;
                 for (std::size_t g = 0; g < bounds.size(); ++g) all.push_back(bounds.bound(g));
                 return all;
             })
        .def(
            "numerators",
            [](VertexBounds& bounds, std::size_t g) {
                check_group(bounds, g);
                std::map<std::size_t, int128> columns;
                for (std::size_t k = 0; k < bounds.count(g); ++k) {
                    const auto numerator = bounds.numerator(g, k);
                    if (numerator) columns[bounds.column(g, k)] = *numerator;
                }
                return columns;
            },
            "g"_a)
        .def_property_readonly("fixed", &VertexBounds::fixed)
        .def("follow", &VertexBounds::follow, "total"_a, "touched"_a)
        .def("remove", &VertexBounds::remove, "j"_a)
        .def(
            "refresh",
            [](VertexBounds& bounds, std::size_t g) {
                check_group(bounds, g);
                require(g >= bounds.fixed(), "the bound of this group never changes");
                bounds.refresh(g);
            },
            "g"_a);
}

void register_screening(py::module_& m) {
    m.attr("SCREENING_RANGE") = kScreeningRange;
    m.attr("SCREENING_ROUNDING") = kScreeningRounding;
    m.def(
        "screening_scores",
        [](L1Gradient& gradient, const Mask& active) {
            return screening_scores(gradient, checked(active, gradient));
        },
        "gradient"_a, "active"_a);
}

py::dict to_dict(const FrankWolfeRun& run, const L1Gradient& gradient) {
    return py::dict("weights"_a = to_weights(gradient), "path"_a = run.path,
                    "screened"_a = run.screened, "screened_at"_a = run.screened_at);
}

void register_loop(py::module_& m) {
    py::enum_<ScreenRule>(m, "ScreenRule")
        .value("NONE", ScreenRule::kNone)
        .value("ONE", ScreenRule::kOne)
        .value("EACH", ScreenRule::kEach);
    m.def("random_start", &random_start, "d"_a, "bits"_a);
    m.def("draw_vertex", &draw_vertex, "gradient"_a, "bounds"_a, "epsilon"_a, "bits"_a);
    m.def(
        "dp_frank_wolfe",
        [](L1Gradient& gradient, std::size_t steps, double epsilon_step, ScreenRule rule,
           std::vector<std::size_t> after, double epsilon_screen, double margin, BitSource& bits) {
            const auto run = without_gil([&] {
                return dp_frank_wolfe(gradient, steps, epsilon_step,
                                      {rule, std::move(after), epsilon_screen, margin}, bits);
            });
            return to_dict(run, gradient);
        },
        "gradient"_a, py::kw_only(), "steps"_a, "epsilon_step"_a, "rule"_a = ScreenRule::kNone,
        "after"_a = std::vector<std::size_t>(), "epsilon_screen"_a = 0.0, "margin"_a = 0.0,
        "bits"_a);
    m.def(
        "frank_wolfe",
        [](L1Gradient& gradient, std::size_t steps) {
            const auto run = without_gil([&] { return frank_wolfe(gradient, steps); });
            return to_dict(run, gradient);
        },
        "gradient"_a, py::kw_only(), "steps"_a);
}

}  // namespace

void register_frank_wolfe(py::module_& m) {
    register_design(m);
    register_gradient(m);
    register_bounds(m);
    register_screening(m);
    register_loop(m);
}
