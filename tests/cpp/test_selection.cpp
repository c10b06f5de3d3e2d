#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "check.hpp"
#include "dpreg/error.hpp"
#include "dpreg/mechanisms/canonical_lipschitz.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/mechanisms/dp_kendall.hpp"
#include "dpreg/mechanisms/sub_lasso.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/parallel.hpp"

using namespace dpreg;

namespace {

const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Cells that have broken such code before.
const std::vector<double> kHostile{0.0,
                                   -0.0,
                                   1.0,
                                   -1.0,
                                   kNaN,
                                   kInf,
                                   -kInf,
                                   1e308,
                                   -1e308,
                                   5e-324,
                                   -5e-324,
                                   1.0 + 0x1p-52,
                                   1.0,
                                   0x1p-1022,
                                   2.0,
                                   kNaN,
                                   -1.7976931348623157e308};

/// Columns of hostile cells in many orders; the first `n` rows of `d` columns, column-major.
std::vector<double> hostile_matrix(std::size_t n, std::size_t d, BitSource& bits) {
    std::vector<double> cells(n * d);
    for (auto& cell : cells) {
        const auto which = uniform_below(std::uint64_t{kHostile.size()}, bits);
        cell = kHostile[static_cast<std::size_t>(which)];
    }
    return cells;
}

MatrixView columns(const std::vector<double>& cells, std::size_t n, std::size_t d) {
    return {cells.data(), n, d, 1, static_cast<std::ptrdiff_t>(n)};
}

double tau_by_definition(const std::vector<double>& x, const std::vector<double>& y) {
    double balance = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const int sx = (x[i] > x[j] ? 1 : 0) - (x[i] < x[j] ? 1 : 0);
            const int sy = (y[i] > y[j] ? 1 : 0) - (y[i] < y[j] ? 1 : 0);
            balance += sx * sy;
        }
    }
    return x.size() < 2 ? 0.0 : balance / static_cast<double>(x.size() - 1);
}

bool distinct_and_below(const std::vector<std::size_t>& chosen, std::size_t k, std::size_t d) {
    const std::set<std::size_t> set(chosen.begin(), chosen.end());
    return chosen.size() == k && set.size() == k && *set.rbegin() < d;
}

}  // namespace

TEST(inversions_are_those_of_all_pairs_at_every_length) {
    TestBits bits(1);
    for (std::size_t n = 0; n < 200; ++n) {
        for (const std::uint32_t bound : {1U, 2U, 3U, 200U}) {
            std::vector<std::uint32_t> v(n);
            for (auto& value : v) {
                value = static_cast<std::uint32_t>(uniform_below(std::uint64_t{bound}, bits));
            }
            std::uint64_t pairs = 0;
            for (std::size_t j = 1; j < n; ++j) {
                for (std::size_t i = 0; i < j; ++i) pairs += v[i] > v[j] ? 1U : 0U;
            }
            std::vector<std::uint32_t> scratch(n);
            CHECK(count_inversions(v.data(), n, bound, scratch.data()) == pairs);
        }
    }
}

TEST(kendall_is_total_and_equals_its_definition) {
    TestBits bits(2);
    for (const std::size_t n : {0, 1, 2, 3, 10, 70, 200}) {
        for (int repeat = 0; repeat < 30; ++repeat) {
            const auto x = hostile_matrix(n, 1, bits);
            const auto y = hostile_matrix(n, 1, bits);
            CHECK(kendall_tau({x.data(), n, 1}, {y.data(), n, 1}) == tau_by_definition(x, y));
        }
    }
    const std::vector<double> two(2);
    CHECK_THROWS(kendall_tau({two.data(), 2, 1}, {two.data(), 1, 1}), InvalidArgument);
}

TEST(ranks_of_hostile_columns_are_dense) {
    const VectorView x{kHostile.data(), kHostile.size(), 1};
    const auto column = rank_column(x);
    for (std::size_t i = 0; i < x.size; ++i) {
        CHECK((column.ranks[i] == kNoRank) == std::isnan(x[i]));
        for (std::size_t j = 0; j < x.size; ++j) {
            if (std::isnan(x[i]) || std::isnan(x[j])) continue;
            CHECK((column.ranks[i] < column.ranks[j]) == (x[i] < x[j]));
        }
    }
    const auto order = ascending_order(x);
    CHECK(order.size() == column.present);
    for (std::size_t i = 1; i < order.size(); ++i) CHECK(x[order[i - 1]] <= x[order[i]]);
}

TEST(dp_kendall_takes_any_cells) {
    TestBits bits(3);
    for (const std::size_t n : {0, 1, 2, 40}) {
        const auto x = hostile_matrix(n, 5, bits);
        const auto y = hostile_matrix(n, 1, bits);
        for (std::size_t k = 1; k <= 5; ++k) {
            for (const std::size_t threads : {1, 3}) {
                use_threads(threads);
                const auto chosen = dp_kendall(columns(x, n, 5), {y.data(), n, 1},
                                               ColumnGroups::singles(5), {k, 0.5}, bits);
                CHECK(distinct_and_below(chosen, k, 5));
                if (k > 3) continue;
                const auto groups = dp_kendall(columns(x, n, 5), {y.data(), n, 1},
                                               ColumnGroups({0, 1, 4}, 5), {k, 0.5}, bits);
                CHECK(distinct_and_below(groups, k, 3));
            }
        }
    }
    const MatrixView none{nullptr, 0, 3, 1, 0};
    for (const auto& groups : {ColumnGroups::singles(3), ColumnGroups({0, 1}, 2)}) {
        CHECK_THROWS(dp_kendall(none, {nullptr, 0, 1}, groups, {4, 0.5}, bits), InvalidArgument);
    }
    for (const std::vector<std::size_t>& starts :
         {std::vector<std::size_t>{}, {1}, {0, 0}, {0, 2, 1}, {0, 3}}) {
        CHECK_THROWS(ColumnGroups(starts, 3), InvalidArgument);
    }
}

TEST(top_k_takes_any_scores) {
    TestBits bits(4);
    for (int repeat = 0; repeat < 200; ++repeat) {
        auto scores = hostile_matrix(1 + static_cast<std::size_t>(repeat) % 20, 1, bits);
        const std::size_t d = scores.size();
        for (std::size_t k = 1; k <= d; ++k) {
            for (const auto law : {NoiseLaw::kExponential, NoiseLaw::kGumbel}) {
                const auto set =
                    canonical_lipschitz(scores, {k, 2.0, 0.7, repeat % 2 * 0.5, law}, bits);
                CHECK(distinct_and_below(set, k, d));
                CHECK(std::is_sorted(set.begin(), set.end()));
            }
        }
        const auto excluded =
            static_cast<std::size_t>(std::count(scores.begin(), scores.end(), -kInf));
        for (std::size_t k = 1; k + excluded <= d; ++k) {
            const auto chosen = peel(scores, k, 2.0, 0.7, bits);
            CHECK(distinct_and_below(chosen, k, d));
            for (const auto j : chosen) CHECK(scores[j] != -kInf);
        }
        CHECK_THROWS(peel(scores, d - excluded + 1, 2.0, 0.7, bits), InvalidArgument);
    }
    CHECK_THROWS(canonical_lipschitz({}, {1, 2.0, 0.7}, bits), InvalidArgument);
    CHECK_THROWS(choose_by_gap({kInf, kInf}, 1.0, 1.0, bits), InvalidArgument);
    for (const double range : {0.0, 1e-310, 1e308, kInf, -1.0}) {
        CHECK_THROWS(choose_by_gap({0.0, 1.0}, range, 1.0, bits), InvalidArgument);
        CHECK_THROWS(canonical_lipschitz({0.0, 0.0, 1.0}, {2, range, 1.0}, bits), InvalidArgument);
    }
}

TEST(canonical_lipschitz_of_large_tied_and_steep_scores) {
    TestBits bits(5);
    const std::size_t d = 20'000;
    std::vector<double> tied(d, 1.0);
    std::vector<double> steep(d);
    std::vector<double> flat(d);
    for (std::size_t t = 0; t < d; ++t) {
        steep[t] = -static_cast<double>(t * t);
        flat[t] = -50.0 * std::log(1.0 + static_cast<double>(t));
    }
    for (const auto* scores : {&tied, &steep, &flat}) {
        for (const std::size_t k : {std::size_t{1}, std::size_t{50}, d - 1, d}) {
            if (k > 100 && k < d) continue;  // O(k^2)
            CHECK(distinct_and_below(canonical_lipschitz(*scores, {k, 2.0, 1.0}, bits), k, d));
        }
    }
}

TEST(noise_of_a_class_is_never_nan) {
    for (const double log_q : {-kInf, -1e300, -745.0, -37.0, -0.5, 0.0, 3.0, 7.0, 1e300, kInf}) {
        CHECK(!std::isnan(noise_from_log_hazard(log_q, NoiseLaw::kExponential)));
        CHECK(!std::isnan(noise_from_log_hazard(log_q, NoiseLaw::kGumbel)));
    }
    TestBits bits(6);
    CHECK_THROWS(largest_of(-1.0, NoiseLaw::kGumbel, bits), InvalidArgument);
    CHECK(random_subset(0, 0, bits).empty());
}

TEST(sub_lasso_takes_any_cells) {
    TestBits bits(7);
    for (const std::size_t n : {0, 1, 2, 60}) {
        const auto x = hostile_matrix(n, 4, bits);
        const auto y = hostile_matrix(n, 1, bits);
        const MatrixView xv = columns(x, n, 4);
        for (const double penalty : {0.0, 0.1, 1e300}) {
            BatchLasso lasso;
            lasso.penalty = penalty;
            for (const auto scaling : {BatchScaling::kUnitVariance, BatchScaling::kNone}) {
                lasso.scaling = scaling;
                const auto assignment = assign_to_slots(n, 5, 10, bits);
                const auto w = fit_lasso_batches(xv, {y.data(), n, 1}, assignment, {}, lasso);
                for (const double v : w) CHECK(!std::isnan(v));
                for (const auto& groups : {ColumnGroups::singles(4), ColumnGroups({0, 3}, 4)}) {
                    const auto chosen = sub_lasso(xv, {y.data(), n, 1}, assignment, {}, groups,
                                                  lasso, 2, 1.0, bits);
                    CHECK(distinct_and_below(chosen, 2, groups.size()));
                }
            }
        }
    }
}

TEST(lasso_of_huge_and_tiny_columns_recovers_the_support) {
    TestBits bits(8);
    const std::size_t n = 50;
    std::vector<double> x(2 * n);
    std::vector<double> y(n);
    for (std::size_t i = 0; i < n; ++i) {
        x[i] = 1e300 * (uniform_open(bits) - 0.5);
        x[n + i] = 1e-300 * (uniform_open(bits) - 0.5);
        y[i] = 1e-8 * (x[i] / 1e300);
    }
    const auto w = fit_lasso_batches(columns(x, n, 2), {y.data(), n, 1},
                                     assign_to_slots(n, 1, n, bits), {}, {});
    CHECK(w[0] > 0.8 && w[0] < 1.0);
    CHECK(std::fabs(w[1]) < 0.2);
}
