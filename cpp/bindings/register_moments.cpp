#include <cmath>
#include <memory>
#include <vector>

#include "dpreg/mechanisms/dpsgd.hpp"
#include "dpreg/recycled.hpp"
#include "dpreg/stats/column_counts.hpp"
#include "dpreg/stats/quantised_rows.hpp"
#include "dpreg/stats/side_by_side.hpp"
#include "dpreg/stats/tail_votes.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using dpreg::QuantisedRows;
using dpreg::Standardisation;
using dpreg::bind::Array;

/// Counts of each column as a matrix, columns x width.
py::array_t<std::int64_t> by_column(const std::vector<std::int64_t>& values, std::size_t columns,
                                    std::size_t width) {
    const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(columns),
                                         static_cast<py::ssize_t>(width)};
    return py::array_t<std::int64_t>(shape, values.data());
}

/// A matrix of doubles, which hold anything at first.
Array recycled_array(std::size_t rows, std::size_t columns) {
    auto room = dpreg::recycled(rows * columns * sizeof(double));
    auto* const numbers = reinterpret_cast<double*>(room.get());
    auto held = std::make_unique<dpreg::Recycled>(std::move(room));
    const py::capsule owner(held.get(),
                            [](void* memory) { delete static_cast<dpreg::Recycled*>(memory); });
    held.release();
    return Array({rows, columns}, numbers, owner);
}

/// The numbers of an array, which the caller keeps.
template <class T>
QuantisedRows::Span<T> span_of(const py::handle& array) {
    const auto values = py::reinterpret_borrow<py::array_t<T, py::array::c_style>>(array);
    return {values.data(), static_cast<std::size_t>(values.size())};
}

/// Numbers as an array without a copy; `rows` keeps them where they are.
template <class T>
py::array_t<T> array_of(const QuantisedRows::Span<T>& values, const py::object& rows) {
    return py::array_t<T>(static_cast<py::ssize_t>(values.size), values.data, rows);
}

/// Something of Python, to be let go of by whoever has it last.
std::shared_ptr<const void> holding(const py::object& kept) {
    return {new py::object(kept), [](py::object* held) {
                const py::gil_scoped_acquire acquire;
                delete held;
            }};
}

py::tuple state_of(const py::object& self) {
    const auto parts = self.cast<const QuantisedRows&>().parts();
    return py::make_tuple(parts.width, parts.limit, array_of(parts.q, self),
                          array_of(parts.y, self), dpreg::bind::to_array(parts.offsets), parts.loss,
                          array_of(parts.weights, self), array_of(parts.given, self));
}

QuantisedRows rows_from(const py::tuple& parts) {
    const auto offsets = span_of<std::size_t>(parts[4]);
    return QuantisedRows({parts[0].cast<std::size_t>(),
                          parts[1].cast<double>(),
                          span_of<std::int16_t>(parts[2]),
                          span_of<double>(parts[3]),
                          {offsets.data, offsets.data + offsets.size},
                          parts[5].cast<dpreg::Loss>(),
                          span_of<double>(parts[6]),
                          span_of<double>(parts[7]),
                          holding(parts)});
}

std::vector<double> row_major(const dpreg::MatrixView& matrix) {
    std::vector<double> entries;
    for (std::size_t i = 0; i < matrix.rows; ++i) {
        for (std::size_t j = 0; j < matrix.cols; ++j) entries.push_back(matrix(i, j));
    }
    return entries;
}

void register_side_by_side(py::module_& m) {
    m.def(
        "side_by_side",
        [](const std::vector<Array>& columns, std::size_t count) {
            std::vector<dpreg::VectorView> views;
            for (const auto& column : columns) views.push_back(dpreg::bind::vector_view(column));
            Array rows = recycled_array(count, columns.size());
            py::array_t<bool> finite(static_cast<py::ssize_t>(count));
            double* const to = rows.mutable_data();
            bool* const answers = finite.mutable_data();
            dpreg::bind::without_gil([&] {
                dpreg::side_by_side(views, count, to, answers);
                return 0;
            });
            return py::make_tuple(rows, finite);
        },
        "columns"_a, "count"_a);
}

void register_column_counts(py::module_& m) {
    m.attr("LEAST_EXPONENT") = dpreg::kLeastExponent;
    m.attr("MOMENT_BITS") = dpreg::kMomentBits;
    m.def("counts_sensitivity", &dpreg::counts_sensitivity, "weights"_a);
    m.def("moments_sensitivity", &dpreg::moments_sensitivity, "weights"_a);
    m.def(
        "magnitude_counts",
        [](const Array& x, std::size_t threads) {
            const auto view = dpreg::bind::matrix_view(x);
            const auto counts =
                dpreg::bind::without_gil([&] { return dpreg::magnitude_counts(view, threads); });
            return by_column(counts, view.cols, dpreg::kMagnitudeCells);
        },
        "x"_a, "threads"_a = 0);
    m.def(
        "interval_counts",
        [](const Array& x, const std::vector<double>& low, const std::vector<double>& high,
           std::size_t bins, std::size_t threads) {
            const auto view = dpreg::bind::matrix_view(x);
            const auto counts = dpreg::bind::without_gil(
                [&] { return dpreg::interval_counts(view, low, high, bins, threads); });
            return by_column(counts, view.cols, bins + 1);
        },
        "x"_a, "low"_a, "high"_a, "bins"_a, "threads"_a = 0);
    m.def(
        "moment_sums",
        [](const Array& x, const std::vector<double>& middle, const std::vector<double>& half,
           std::size_t threads) {
            const auto view = dpreg::bind::matrix_view(x);
            const auto sums = dpreg::bind::without_gil(
                [&] { return dpreg::moment_sums(view, middle, half, threads); });
            return dpreg::bind::to_array(sums);
        },
        "x"_a, "middle"_a, "half"_a, "threads"_a = 0);
}

void register_tail_votes(py::module_& m) {
    m.def("tail_votes_sensitivity", &dpreg::tail_votes_sensitivity, "sets"_a);
    m.def(
        "tail_votes",
        [](const Array& x, const Array& y, const std::vector<double>& slopes, double intercept,
           const std::vector<std::vector<double>>& low,
           const std::vector<std::vector<double>>& high, double unit, std::size_t threads) {
            dpreg::require(low.size() == high.size(), "low and high must have as many sets");
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            std::vector<dpreg::Limits> limits;
            for (std::size_t k = 0; k < low.size(); ++k) limits.push_back({low[k], high[k]});
            const auto votes = dpreg::bind::without_gil([&] {
                return dpreg::tail_votes(xv, yv, {slopes, intercept}, limits, unit, threads);
            });
            return dpreg::bind::to_array(votes);
        },
        "x"_a, "y"_a, "slopes"_a, "intercept"_a, py::kw_only(), "low"_a, "high"_a, "unit"_a,
        "threads"_a = 0);
}

void register_losses(py::module_& m) {
    py::enum_<dpreg::LossKind>(m, "LossKind")
        .value("squared", dpreg::LossKind::squared)
        .value("logistic", dpreg::LossKind::logistic)
        .value("probit", dpreg::LossKind::probit)
        .value("cloglog", dpreg::LossKind::cloglog)
        .value("poisson", dpreg::LossKind::poisson)
        .value("gamma", dpreg::LossKind::gamma)
        .value("negative_binomial", dpreg::LossKind::negative_binomial)
        .value("quantile", dpreg::LossKind::quantile);
    py::class_<dpreg::Loss>(m, "Loss")
        .def(py::init<>())
        .def(py::pickle(
            [](const dpreg::Loss& loss) {
                return py::make_tuple(loss.kind, loss.least_response, loss.most_response,
                                      loss.least_predictor, loss.most_predictor, loss.level,
                                      loss.bandwidth, loss.dispersion);
            },
            [](const py::tuple& parts) {
                const auto number = [&](std::size_t k) { return parts[k].cast<double>(); };
                return dpreg::Loss{parts[0].cast<dpreg::LossKind>(),
                                   number(1),
                                   number(2),
                                   number(3),
                                   number(4),
                                   number(5),
                                   number(6),
                                   number(7)};
            }))
        .def_readwrite("kind", &dpreg::Loss::kind)
        .def_readwrite("least_response", &dpreg::Loss::least_response)
        .def_readwrite("most_response", &dpreg::Loss::most_response)
        .def_readwrite("least_predictor", &dpreg::Loss::least_predictor)
        .def_readwrite("most_predictor", &dpreg::Loss::most_predictor)
        .def_readwrite("level", &dpreg::Loss::level)
        .def_readwrite("bandwidth", &dpreg::Loss::bandwidth)
        .def_readwrite("dispersion", &dpreg::Loss::dispersion);
}

void register_rows(py::module_& m) {
    m.attr("ROW_STEPS") = dpreg::kRowSteps;
    m.attr("SQUARES_SENSITIVITY") = dpreg::kSquaresSensitivity;
    m.def("gram_sensitivity", &dpreg::gram_sensitivity, "width"_a);
    m.def("score_sensitivity", &dpreg::score_sensitivity, "width"_a);
    m.def("score_products_sensitivity", &dpreg::score_products_sensitivity, "width"_a);
    m.attr("SCORE_NORMS_SENSITIVITY") = dpreg::kScoreNormsSensitivity;
    m.attr("SCORE_STEPS") = dpreg::kScoreSteps;
    m.attr("LEAST_SCORE_BIN") = dpreg::kLeastScoreBin;
    m.attr("SCORE_BINS") = dpreg::kScoreBins;
    m.def("gradient_sensitivity", &dpreg::gradient_sensitivity, "width"_a);
    m.def("curvature_sensitivity", &dpreg::curvature_sensitivity, "width"_a);
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
            [](Standardisation& how, const Array& map) {
                const auto view = dpreg::bind::matrix_view(map);
                how.mapped = view.cols;
                how.map = row_major(view);
            });
    py::class_<QuantisedRows>(m, "QuantisedRows")
        .def(py::init([](const Array& x, const Array& y, const Standardisation& how,
                         const std::vector<std::size_t>& offsets,
                         const std::vector<std::size_t>& rows, std::size_t threads) {
                 const auto xv = dpreg::bind::matrix_view(x);
                 const auto yv = dpreg::bind::vector_view(y);
                 const py::gil_scoped_release release;
                 return QuantisedRows(xv, yv, how, {offsets, rows}, threads);
             }),
             "x"_a, "y"_a, "how"_a, "offsets"_a = std::vector<std::size_t>{},
             "rows"_a = std::vector<std::size_t>{}, "threads"_a = 0)
        .def(py::pickle(&state_of, &rows_from))
        .def_property_readonly("rows", &QuantisedRows::rows)
        .def_property_readonly("bytes", &QuantisedRows::bytes)
        .def_property_readonly("width", &QuantisedRows::width)
        .def_property_readonly("limit", &QuantisedRows::limit)
        .def(
            "gram",
            [](const QuantisedRows& rows, std::size_t threads) {
                const auto sums = dpreg::bind::without_gil([&] { return rows.gram(threads); });
                return by_column(sums, rows.width(), rows.width());
            },
            "threads"_a = 0)
        .def(
            "round",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double clip,
               std::size_t threads) {
                const auto sums =
                    dpreg::bind::without_gil([&] { return rows.round(theta, clip, threads); });
                return py::make_tuple(dpreg::bind::to_array(sums.gradient), sums.squares);
            },
            "theta"_a, "clip"_a, "threads"_a = 0)
        .def(
            "score",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double limit,
               std::size_t threads) {
                const auto sums =
                    dpreg::bind::without_gil([&] { return rows.score(theta, limit, threads); });
                return dpreg::bind::to_array(sums);
            },
            "theta"_a, "limit"_a, "threads"_a = 0)
        .def(
            "curvature",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double limit,
               std::size_t threads) {
                const auto sums =
                    dpreg::bind::without_gil([&] { return rows.curvature(theta, limit, threads); });
                return by_column(sums, rows.width(), rows.width());
            },
            "theta"_a, "limit"_a, "threads"_a = 0)
        .def(
            "score_norms",
            [](const QuantisedRows& rows, const std::vector<double>& theta, std::size_t threads) {
                const auto counts =
                    dpreg::bind::without_gil([&] { return rows.score_norms(theta, threads); });
                return dpreg::bind::to_array(counts);
            },
            "theta"_a, "threads"_a = 0)
        .def(
            "score_products",
            [](const QuantisedRows& rows, const std::vector<double>& theta, double limit,
               std::size_t threads) {
                const auto sums = dpreg::bind::without_gil(
                    [&] { return rows.score_products(theta, limit, threads); });
                return by_column(sums, rows.width(), rows.width());
            },
            "theta"_a, "limit"_a, "threads"_a = 0);
}

void register_mapped_gram(py::module_& m) {
    m.def(
        "mapped_gram",
        [](const Array& x, const Array& y, const Standardisation& how, std::size_t threads) {
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            const auto sums =
                dpreg::bind::without_gil([&] { return dpreg::mapped_gram(xv, yv, how, threads); });
            const auto width = static_cast<std::size_t>(std::llround(std::sqrt(sums.size())));
            return by_column(sums, width, width);
        },
        "x"_a, "y"_a, "how"_a, "threads"_a = 0);
}

void register_dpsgd(py::module_& m) {
    m.def("poisson_rate", &dpreg::poisson_rate, "rate"_a);
    m.def(
        "dpsgd",
        [](const QuantisedRows& like, const py::iterable& blocks, std::size_t steps, double rate,
           double expected, double clip, double learning_rate, std::uint64_t sigma,
           dpreg::BitSource& bits) {
            const dpreg::EachBlock each = [&](const auto& visit) {
                const py::gil_scoped_acquire gil;
                for (const py::handle item : blocks) {
                    const auto& rows = py::cast<const QuantisedRows&>(item);
                    dpreg::bind::without_gil([&] { visit(rows); });
                }
            };
            return dpreg::bind::to_array(dpreg::bind::without_gil([&] {
                return dpreg::dpsgd(like, each, {steps, rate, expected, clip, learning_rate, sigma},
                                    bits);
            }));
        },
        "like"_a, "blocks"_a, py::kw_only(), "steps"_a, "rate"_a, "expected"_a, "clip"_a,
        "learning_rate"_a, "sigma"_a, "bits"_a);
}

}  // namespace

void register_moments(py::module_& m) {
    register_side_by_side(m);
    register_column_counts(m);
    register_tail_votes(m);
    register_losses(m);
    register_rows(m);
    register_mapped_gram(m);
    register_dpsgd(m);
}
