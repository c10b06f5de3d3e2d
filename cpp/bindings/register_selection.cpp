// Functions that draw keep the interpreter lock: a source of bits must not be used by two
// threads at once.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "dpreg/mechanisms/bounded_choice.hpp"
#include "dpreg/mechanisms/canonical_lipschitz.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "dpreg/mechanisms/peel.hpp"
#include "dpreg/mechanisms/sub_lasso.hpp"
#include "dpreg/noise/largest.hpp"
#include "dpreg/stats/batch_lasso.hpp"
#include "dpreg/stats/clipped_products.hpp"
#include "dpreg/stats/inversions.hpp"
#include "dpreg/stats/kendall.hpp"
#include "numpy_view.hpp"

namespace {

namespace py = pybind11;
using namespace py::literals;
using dpreg::BitSource;
using dpreg::bind::Array;
using dpreg::bind::IndexArray;

using Ranks = std::vector<std::uint32_t>;

/// Groups by where they begin; none: each column by itself.
dpreg::ColumnGroups groups_of(std::optional<std::vector<std::size_t>> starts, std::size_t columns) {
    return starts ? dpreg::ColumnGroups(std::move(*starts), columns)
                  : dpreg::ColumnGroups::singles(columns);
}

void register_inversions(py::module_& m) {
    m.def(
        "inversions_by_merging",
        [](Ranks values) {
            Ranks scratch(values.size());
            return dpreg::inversions_by_merging(values.data(), values.size(), scratch.data());
        },
        "values"_a);
}

void register_kendall(py::module_& m) {
    m.attr("KENDALL_SENSITIVITY") = dpreg::kKendallSensitivity;
    m.attr("KENDALL_LARGEST_RISE") = dpreg::kKendallLargestRise;
    m.attr("KENDALL_LABEL_RANGE") = dpreg::kKendallLabelRange;
    m.attr("KENDALL_SCORE_RANGE") = dpreg::kKendallScoreRange;
    m.def(
        "kendall_tau",
        [](const Array& x, const Array& y) {
            const auto xv = dpreg::bind::vector_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            return dpreg::bind::without_gil([&] { return dpreg::kendall_tau(xv, yv); });
        },
        "x"_a, "y"_a);
}

void register_lasso(py::module_& m) {
    m.attr("VOTE_SENSITIVITY") = dpreg::kVoteSensitivity;
    m.attr("VOTE_RANGE") = dpreg::kVoteRange;
    py::enum_<dpreg::BatchScaling>(m, "BatchScaling")
        .value("UNIT_VARIANCE", dpreg::BatchScaling::kUnitVariance)
        .value("NONE", dpreg::BatchScaling::kNone);
    m.def(
        "fit_lasso_batches",
        [](const Array& x, const Array& y, const dpreg::Assignment& assignment,
           std::optional<IndexArray> unit_offsets, std::optional<IndexArray> unit_rows,
           double penalty, dpreg::BatchScaling scaling, std::size_t threads) {
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            dpreg::require(xv.rows == yv.size, "X and y must have the same number of rows");
            const dpreg::bind::UnitRows units{std::move(unit_offsets), std::move(unit_rows)};
            const auto models = dpreg::bind::without_gil([&] {
                return dpreg::fit_lasso_batches(xv, yv, assignment, units.offset_data(),
                                                units.row_data(), {penalty, scaling}, threads);
            });
            return dpreg::bind::to_matrix(models, assignment.offsets.size() - 1, xv.cols);
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "penalty"_a, "scaling"_a = dpreg::BatchScaling::kUnitVariance,
        "threads"_a = 0);
    // For partitions that are not drawn: those of the published forms.
    m.def(
        "fixed_assignment",
        [](std::vector<std::size_t> members, std::vector<std::size_t> offsets) {
            dpreg::require(!offsets.empty() && offsets.front() == 0 &&
                               offsets.back() == members.size() &&
                               std::is_sorted(offsets.begin(), offsets.end()),
                           "offsets must ascend from 0 to the number of members");
            return dpreg::Assignment{std::move(members), std::move(offsets)};
        },
        "members"_a, "offsets"_a);
    m.def(
        "count_votes",
        [](const Array& coefficients, std::size_t k) {
            const auto view = dpreg::bind::matrix_view(coefficients);
            std::vector<double> rows(view.rows * view.cols);
            for (std::size_t i = 0; i < view.rows; ++i) {
                for (std::size_t j = 0; j < view.cols; ++j) rows[i * view.cols + j] = view(i, j);
            }
            return dpreg::bind::to_array(dpreg::count_votes(rows, view.cols, k));
        },
        "coefficients"_a, "k"_a);
    m.def(
        "sub_lasso",
        [](const Array& x, const Array& y, const dpreg::Assignment& assignment,
           std::optional<IndexArray> unit_offsets, std::optional<IndexArray> unit_rows,
           double penalty, std::size_t k, double epsilon, BitSource& bits,
           std::optional<std::vector<std::size_t>> groups, std::size_t threads) {
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            dpreg::require(xv.rows == yv.size, "X and y must have the same number of rows");
            const dpreg::bind::UnitRows units{std::move(unit_offsets), std::move(unit_rows)};
            dpreg::BatchLasso lasso;
            lasso.penalty = penalty;
            return dpreg::bind::to_array(dpreg::sub_lasso(
                xv, yv, assignment, units.offset_data(), units.row_data(),
                groups_of(std::move(groups), xv.cols), lasso, k, epsilon, bits, threads));
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "penalty"_a, "k"_a, "epsilon"_a, "bits"_a,
        "groups"_a = py::none(), "threads"_a = 0);
}

void register_products(py::module_& m) {
    m.attr("CLIPPED_PRODUCT_SENSITIVITY") = dpreg::kClippedProductSensitivity;
    m.attr("CLIPPED_PRODUCT_RANGE") = dpreg::kClippedProductRange;
    m.def(
        "clipped_products",
        [](const Array& x, const Array& y, const Array& x_centres, const Array& x_halves,
           double y_centre, double y_half, std::size_t threads) {
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            const dpreg::ProductBounds bounds{dpreg::bind::to_vector(x_centres),
                                              dpreg::bind::to_vector(x_halves), y_centre, y_half};
            const auto sums = dpreg::bind::without_gil(
                [&] { return dpreg::clipped_products(xv, yv, bounds, threads); });
            return dpreg::bind::to_array(sums);
        },
        "x"_a, "y"_a, py::kw_only(), "x_centres"_a, "x_halves"_a, "y_centre"_a, "y_half"_a,
        "threads"_a = 0);
    m.def(
        "clipped_scores",
        [](const std::vector<std::int64_t>& sums) {
            return dpreg::bind::to_array(dpreg::clipped_scores(sums));
        },
        "sums"_a);
}

void register_largest(py::module_& m) {
    py::enum_<dpreg::NoiseLaw>(m, "NoiseLaw")
        .value("EXPONENTIAL", dpreg::NoiseLaw::kExponential)
        .value("GUMBEL", dpreg::NoiseLaw::kGumbel);
    m.def(
        "random_subset",
        [](std::uint64_t size, std::size_t count, BitSource& bits) {
            return dpreg::bind::to_array(dpreg::random_subset(size, count, bits));
        },
        "size"_a, "count"_a, "bits"_a);
}

void register_choices(py::module_& m) {
    m.def(
        "peel",
        [](const Array& scores, std::size_t k, double range, double epsilon, BitSource& bits) {
            return dpreg::bind::to_array(
                dpreg::peel(dpreg::bind::to_vector(scores), k, range, epsilon, bits));
        },
        "scores"_a, py::kw_only(), "k"_a, "range"_a, "epsilon"_a, "bits"_a);
    m.def(
        "canonical_lipschitz",
        [](const Array& scores, std::size_t k, double range, double epsilon, double gamma,
           dpreg::NoiseLaw noise, BitSource& bits) {
            return dpreg::bind::to_array(dpreg::canonical_lipschitz(
                dpreg::bind::to_vector(scores), {k, range, epsilon, gamma, noise}, bits));
        },
        "scores"_a, py::kw_only(), "k"_a, "range"_a, "epsilon"_a, "gamma"_a, "noise"_a, "bits"_a);
    m.def(
        "dp_kendall",
        [](const Array& x, const Array& y, std::size_t k, double epsilon_round, double first_range,
           double later_range, BitSource& bits, std::optional<std::vector<std::size_t>> groups,
           std::size_t threads) {
            const auto xv = dpreg::bind::matrix_view(x);
            const auto yv = dpreg::bind::vector_view(y);
            return dpreg::bind::to_array(
                dpreg::dp_kendall(xv, yv, groups_of(std::move(groups), xv.cols),
                                  {k, epsilon_round, first_range, later_range}, bits, threads));
        },
        "x"_a, "y"_a, py::kw_only(), "k"_a, "epsilon_round"_a, "first_range"_a, "later_range"_a,
        "bits"_a, "groups"_a = py::none(), "threads"_a = 0);
}

}  // namespace

void register_selection(py::module_& m) {
    register_inversions(m);
    register_kendall(m);
    register_lasso(m);
    register_products(m);
    register_largest(m);
    register_choices(m);
}
