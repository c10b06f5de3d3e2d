// Functions that draw keep the interpreter lock: a source of bits must not be used by two
// threads at once.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "dpreg/mechanisms/canonical_lipschitz.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "dpreg/mechanisms/sub_lasso.hpp"
#include "dpreg/noise/samplers.hpp"
#include "numpy_view.hpp"

namespace {

using namespace dpreg;
using namespace dpreg::bind;

using Numbers = std::vector<double>;

/// Groups by where they begin; none: each column by itself.
ColumnGroups groups_of(Indices starts, std::size_t columns) {
    return starts ? ColumnGroups(std::move(*starts), columns) : ColumnGroups::singles(columns);
}

void register_kendall(py::module_& m) {
    m.attr("KENDALL_SENSITIVITY") = kKendallSensitivity;
    m.attr("KENDALL_LARGEST_RISE") = kKendallLargestRise;
    m.attr("KENDALL_LABEL_RANGE") = kKendallLabelRange;
    m.attr("KENDALL_SCORE_RANGE") = kKendallScoreRange;
    m.def(
        "count_inversions",
        [](std::vector<std::uint32_t> values, std::uint32_t bound) {
            std::vector<std::uint32_t> scratch(values.size());
            return count_inversions(values.data(), values.size(), bound, scratch.data());
        },
        "values"_a, "bound"_a);
    m.def("kendall_tau", &kendall_tau, "x"_a, "y"_a, Released());
    m.def(
        "dp_kendall",
        [](const MatrixView& x, const VectorView& y, std::size_t k, double epsilon_round,
           double first_range, double later_range, BitSource& bits, Indices groups) {
            return dp_kendall(x, y, groups_of(std::move(groups), x.cols),
                              {k, epsilon_round, first_range, later_range}, bits);
        },
        "x"_a, "y"_a, py::kw_only(), "k"_a, "epsilon_round"_a, "first_range"_a, "later_range"_a,
        "bits"_a, "groups"_a = py::none());
}

void register_lasso(py::module_& m) {
    m.attr("VOTE_SENSITIVITY") = kVoteSensitivity;
    m.attr("VOTE_RANGE") = kVoteRange;
    py::enum_<BatchScaling>(m, "BatchScaling")
        .value("UNIT_VARIANCE", BatchScaling::kUnitVariance)
        .value("NONE", BatchScaling::kNone);
    m.def(
        "fit_lasso_batches",
        [](const MatrixView& x, const VectorView& y, const Assignment& assignment,
           Indices unit_offsets, Indices unit_rows, double penalty, BatchScaling scaling) {
            const auto units = grouping(std::move(unit_offsets), std::move(unit_rows));
            const auto models = without_gil(
                [&] { return fit_lasso_batches(x, y, assignment, units, {penalty, scaling}); });
            return to_matrix(models, assignment.offsets.size() - 1, x.cols);
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "penalty"_a, "scaling"_a = BatchScaling::kUnitVariance);
    // For partitions that are not drawn: those of the published forms.
    m.def(
        "fixed_assignment",
        [](std::vector<std::size_t> members, std::vector<std::size_t> offsets) {
            require(!offsets.empty() && offsets.front() == 0 && offsets.back() == members.size() &&
                        std::is_sorted(offsets.begin(), offsets.end()),
                    "offsets must ascend from 0 to the number of members");
            return Assignment{std::move(members), std::move(offsets)};
        },
        "members"_a, "offsets"_a);
    m.def(
        "count_votes",
        [](const MatrixView& coefficients, std::size_t k) {
            return count_votes(row_major(coefficients), coefficients.cols, k);
        },
        "coefficients"_a, "k"_a);
    m.def(
        "sub_lasso",
        [](const MatrixView& x, const VectorView& y, const Assignment& assignment,
           Indices unit_offsets, Indices unit_rows, double penalty, std::size_t k, double epsilon,
           BitSource& bits, Indices groups) {
            BatchLasso lasso;
            lasso.penalty = penalty;
            return sub_lasso(x, y, assignment,
                             grouping(std::move(unit_offsets), std::move(unit_rows)),
                             groups_of(std::move(groups), x.cols), lasso, k, epsilon, bits);
        },
        "x"_a, "y"_a, "assignment"_a, py::kw_only(), "unit_offsets"_a = py::none(),
        "unit_rows"_a = py::none(), "penalty"_a, "k"_a, "epsilon"_a, "bits"_a,
        "groups"_a = py::none());
}

void register_top_k(py::module_& m) {
    py::enum_<NoiseLaw>(m, "NoiseLaw")
        .value("EXPONENTIAL", NoiseLaw::kExponential)
        .value("GUMBEL", NoiseLaw::kGumbel);
    m.def("random_subset", &random_subset, "size"_a, "count"_a, "bits"_a);
    m.def("peel", &peel, "scores"_a, py::kw_only(), "k"_a, "range"_a, "epsilon"_a, "bits"_a);
    m.def(
        "canonical_lipschitz",
        [](const Numbers& scores, std::size_t k, double range, double epsilon, double gamma,
           NoiseLaw noise, BitSource& bits) {
            return canonical_lipschitz(scores, {k, range, epsilon, gamma, noise}, bits);
        },
        "scores"_a, py::kw_only(), "k"_a, "range"_a, "epsilon"_a, "gamma"_a, "noise"_a, "bits"_a);
}

}  // namespace

void register_selection(py::module_& m) {
    register_kendall(m);
    register_lasso(m);
    register_top_k(m);
}
