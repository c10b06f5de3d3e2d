#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "dpreg/mechanisms/dpsgd.hpp"
#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/side_by_side.hpp"
#include "dpreg/stats/tail_votes.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

using Numbers = std::vector<double>;

/// The numbers of an array, which the caller keeps.
template <class T>
QuantisedRows::Span<T> span_of(const py::handle& array) {
    using Values = py::array_t<T, py::array::c_style>;
    require(py::isinstance<Values>(array), "rows are made of arrays, each of its own type");
    const auto values = py::reinterpret_borrow<Values>(array);
    return {values.data(), static_cast<std::size_t>(values.size())};
}

/// Numbers as an array without a copy; `rows` keeps them where they are.
template <class T>
py::array_t<T> array_of(const QuantisedRows::Span<T>& values, const py::object& rows) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size), values.data, rows);
}

/// A Python object that is released by its last owner.
std::shared_ptr<const void> holding(const py::object& kept) {
    return {new py::object(kept), [](py::object* held) {
                const py::gil_scoped_acquire acquire;
                delete held;
            }};
}

py::tuple state_of(const py::object& self) {
    const auto& parts = self.cast<const QuantisedRows&>().parts();
    return py::make_tuple(parts.width, parts.limit, array_of(parts.q, self),
                          array_of(parts.y, self), parts.offsets, parts.loss,
                          array_of(parts.weights, self), array_of(parts.given, self));
}

QuantisedRows rows_from(const py::tuple& parts) {
    return QuantisedRows({parts[0].cast<std::size_t>(), parts[1].cast<double>(),
                          span_of<std::int16_t>(parts[2]), span_of<double>(parts[3]),
                          parts[4].cast<std::vector<std::size_t>>(), parts[5].cast<Loss>(),
                          span_of<double>(parts[6]), span_of<double>(parts[7]), holding(parts)});
}

constexpr std::array<std::pair<const char*, double Loss::*>, 7> kNumbers{{
    {"least_response", &Loss::least_response},
    {"most_response", &Loss::most_response},
    {"least_predictor", &Loss::least_predictor},
    {"most_predictor", &Loss::most_predictor},
    {"level", &Loss::level},
    {"bandwidth", &Loss::bandwidth},
    {"dispersion", &Loss::dispersion},
}};

void register_losses(py::module_& m) {
    py::enum_<LossKind>(m, "LossKind")
        .value("squared", LossKind::squared)
        .value("logistic", LossKind::logistic)
        .value("probit", LossKind::probit)
        .value("cloglog", LossKind::cloglog)
        .value("poisson", LossKind::poisson)
        .value("counting", LossKind::counting)
        .value("gamma", LossKind::gamma)
        .value("negative_binomial", LossKind::negative_binomial)
        .value("quantile", LossKind::quantile);
    py::class_<Loss> loss(m, "Loss");
    loss.def(py::init<>()).def_readwrite("kind", &Loss::kind);
    for (const auto& [name, number] : kNumbers) loss.def_readwrite(name, number);
    loss.def(py::pickle(
        [](const Loss& from) {
            std::vector<double> numbers;
            for (const auto& each : kNumbers) numbers.push_back(from.*each.second);
            return py::make_tuple(from.kind, numbers);
        },
        [](const py::tuple& parts) {
            Loss to{parts[0].cast<LossKind>()};
            std::size_t k = 0;
            for (const double number : parts[1].cast<std::vector<double>>()) {
                to.*kNumbers.at(k++).second = number;
            }
            return to;
        }));
}

template <auto kSum>
auto limited_matrix(const QuantisedRows& rows, const std::vector<double>& theta, double limit) {
    const auto sums = without_gil([&] { return (rows.*kSum)(theta, limit); });
    return to_matrix(sums, rows.width(), rows.width());
}

void register_quantised(py::module_& m) {
    m.attr("ROW_STEPS") = kRowSteps;
    m.attr("SQUARES_SENSITIVITY") = kSquaresSensitivity;
    m.def("gram_sensitivity", &gram_sensitivity, "width"_a);
    m.def("score_sensitivity", &score_sensitivity, "width"_a);
    m.def("score_products_sensitivity", &score_products_sensitivity, "width"_a);
    m.attr("SCORE_NORMS_SENSITIVITY") = kScoreNormsSensitivity;
    m.attr("SCORE_STEPS") = kScoreSteps;
    m.attr("LEAST_SCORE_BIN") = kLeastScoreBin;
    m.attr("SCORE_BINS") = kScoreBins;
    m.def("gradient_sensitivity", &gradient_sensitivity, "width"_a);
    m.def("curvature_sensitivity", &curvature_sensitivity, "width"_a);
    m.def("followed_curvature_sensitivity", &followed_curvature_sensitivity, "width"_a);
    py::class_<Standardisation>(m, "Standardisation")
        .def(py::init<>())
        .def_readwrite("columns", &Standardisation::columns)
        .def_readwrite("low", &Standardisation::low)
        .def_readwrite("high", &Standardisation::high)
        .def_readwrite("centre", &Standardisation::centre)
        .def_readwrite("inverse_scale", &Standardisation::inverse_scale)
        .def_readwrite("y_centre", &Standardisation::y_centre)
        .def_readwrite("y_inverse_scale", &Standardisation::y_inverse_scale)
        .def_readwrite("intercept", &Standardisation::intercept)
        .def_readwrite("row_limit", &Standardisation::row_limit)
        .def_readwrite("response_limit", &Standardisation::response_limit)
        .def_readwrite("aim", &Standardisation::aim)
        .def_readwrite("loss", &Standardisation::loss)
        .def_readwrite("given", &Standardisation::given)
        .def_readwrite("weight", &Standardisation::weight)
        .def_readwrite("inverse_weight", &Standardisation::inverse_weight)
        .def_readwrite("most_weight", &Standardisation::most_weight)
        .def_property(
            "map", [](const Standardisation& how) { return how.map; },
            [](Standardisation& how, const MatrixView& map) {
                how.mapped = map.cols;
                how.map = row_major(map);
            });
    py::class_<QuantisedRows>(m, "QuantisedRows")
        .def(py::init([](const MatrixView& x, const VectorView& y, const Standardisation& how,
                         Indices offsets, Indices rows) {
                 return QuantisedRows(x, y, how, grouping(std::move(offsets), std::move(rows)));
             }),
             "x"_a, "y"_a, "how"_a, "offsets"_a = py::none(), "rows"_a = py::none(), Released())
        .def(py::pickle(&state_of, &rows_from))
        .def_property_readonly("rows", &QuantisedRows::rows)
        .def_property_readonly("bytes", &QuantisedRows::bytes)
        .def_property_readonly("width", &QuantisedRows::width)
        .def_property_readonly("limit", &QuantisedRows::limit)
        .def("gram",
             [](const QuantisedRows& rows) {
                 const auto sums = without_gil([&] { return rows.gram(); });
                 return to_matrix(sums, rows.width(), rows.width());
             })
        .def(
            "round",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double clip) {
                const auto sums = without_gil([&] { return rows.round(theta, clip); });
                return py::make_tuple(sums.gradient, sums.squares);
            },
            "theta"_a, "clip"_a)
        .def("score", &QuantisedRows::score, "theta"_a, "limit"_a, Released())
        .def("curvature", &limited_matrix<&QuantisedRows::curvature>, "theta"_a, "limit"_a)
        .def("score_norms", &QuantisedRows::score_norms, "theta"_a, Released())
        .def("score_products", &limited_matrix<&QuantisedRows::score_products>, "theta"_a,
             "limit"_a)
        .def(
            "followed_curvature",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double stop,
               double limit, std::size_t leading) {
                const auto sums = without_gil(
                    [&] { return rows.followed_curvature(theta, stop, limit, leading); });
                return to_matrix(sums, leading, leading);
            },
            "theta"_a, "stop"_a, "limit"_a, "leading"_a);
    m.def(
        "mapped_gram",
        [](const MatrixView& x, const VectorView& y, const Standardisation& how) {
            const auto sums = without_gil([&] { return mapped_gram(x, y, how); });
            const auto width = static_cast<std::size_t>(std::llround(std::sqrt(sums.size())));
            return to_matrix(sums, width, width);
        },
        "x"_a, "y"_a, "how"_a);
}

void register_dpsgd(py::module_& m) {
    m.def("poisson_rate", &poisson_rate, "rate"_a);
    m.def(
        "dpsgd",
        [](const QuantisedRows& like, const py::iterable& blocks, std::size_t steps, double rate,
           double expected, double clip, double learning_rate, std::uint64_t sigma,
           BitSource& bits) {
            const EachBlock each = [&](const auto& visit) {
                const py::gil_scoped_acquire gil;
                for (const py::handle item : blocks) {
                    const auto& rows = py::cast<const QuantisedRows&>(item);
                    without_gil([&] { visit(rows); });
                }
            };
            return dpsgd(like, each, {steps, rate, expected, clip, learning_rate, sigma}, bits);
        },
        "like"_a, "blocks"_a, py::kw_only(), "steps"_a, "rate"_a, "expected"_a, "clip"_a,
        "learning_rate"_a, "sigma"_a, "bits"_a, Released());
}

void register_moments(py::module_& m) {
    m.def(
        "side_by_side",
        [](const std::vector<Array>& columns, std::size_t count) {
            std::vector<VectorView> views;
            for (const auto& column : columns) views.push_back(vector_view(column));
            Array rows({count, columns.size()});
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

}  // namespace

void register_rows(py::module_& m) {
    register_moments(m);
    register_losses(m);
    register_quantised(m);
    register_dpsgd(m);
}
