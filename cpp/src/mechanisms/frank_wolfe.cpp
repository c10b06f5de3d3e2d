#include "dpreg/mechanisms/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

void check_epsilon(double epsilon) {
    require(epsilon >= kLeastStepEpsilon && epsilon <= kLargestStepEpsilon,
            "the epsilon of one step must be between 2^-30 and 1000: fewer steps have larger ones");
}

std::size_t column_of(std::int64_t vertex) {
    return static_cast<std::size_t>(vertex < 0 ? -vertex : vertex) - 1;
}

/// A run in progress.
struct Walk {
    L1Gradient& gradient;
    VertexBounds& bounds;
    FrankWolfeRun run;

    void step(std::int64_t vertex) {
        gradient.step(column_of(vertex), vertex > 0);
        bounds.follow(gradient.total(), gradient.touched());
        run.path.push_back(vertex);
    }

    /// Takes a coordinate out of the problem, for good.
    void screen(std::size_t j) {
        gradient.drop(j);
        bounds.follow(gradient.total(), gradient.touched());
        bounds.remove(j);
        run.screened.push_back(static_cast<std::int64_t>(j));
        run.screened_at.push_back(static_cast<std::int64_t>(run.path.size()));
    }
};

void screen_once(const Screening& screening, std::vector<std::uint8_t>& active, Walk& walk,
                 BitSource& bits) {
    auto scores = screening_scores(walk.gradient, active);
    const double slope =
        (screening.epsilon - kGroupedRounding) / (kScreeningRange + kScreeningRounding);
    for (auto& score : scores) score *= slope;
    const auto screen = [&](std::size_t j) {
        active[j] = 0;
        walk.screen(j);
    };
    if (screening.rule == ScreenRule::kOne) {
        scores.push_back(screening.margin);
        const std::size_t j = choose_among(scores, bits);
        if (j < active.size()) screen(j);
        return;
    }
    for (std::size_t j = 0; j < active.size(); ++j) {
        if (active[j] == 0) continue;
        if (choose_among({scores[j], screening.margin}, bits) == 0) screen(j);
    }
}

void check_steps(std::size_t steps) {
    require(steps >= 1 && steps <= kMaxSteps, "steps must be between 1 and 32000");
}

void check_screening(const Screening& screening) {
    const auto& after = screening.after;
    if (screening.rule == ScreenRule::kNone) {
        return require(after.empty(), "without a rule nothing is screened");
    }
    check_epsilon(screening.epsilon);
    require(screening.margin >= 0.0 && screening.margin <= 500.0,
            "the margin of screening must be between 0 and 500");
    require(std::adjacent_find(after.begin(), after.end(), std::greater_equal<>()) == after.end(),
            "the steps after which coordinates are screened must rise");
}

/// A score that is at most that of some candidate, and at most one log-weight below any bound of
/// a tracked group.
int128 reference_for(VertexBounds& bounds, double slope) {
    // Of +e_j and -e_j one has a score of 0 or more.
    return std::max<int128>(0, bounds.attain(static_cast<int128>(1.0 / slope)).size);
}

/// The vertex with the largest score, of the first column where there are several.
std::int64_t largest_vertex(VertexBounds& bounds) {
    const auto attained = bounds.attain(0);
    for (std::size_t k = 0;; ++k) {
        const auto numerator = bounds.numerator(attained.group, k);
        if (!numerator) continue;
        const auto name = static_cast<std::int64_t>(bounds.column(attained.group, k)) + 1;
        if (*numerator == attained.size && *numerator > 0) return -name;
        if (*numerator == -attained.size) return name;
    }
}

}  // namespace

std::vector<double> screening_scores(L1Gradient& gradient,
                                     const std::vector<std::uint8_t>& active) {
    const std::size_t d = gradient.cols();
    const auto n = static_cast<double>(gradient.rows());
    const auto values = gradient.scaled_values();
    double largest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] != 0) largest = std::fmax(largest, std::fabs(values[j]));
    }
    const double gap = gradient.wolfe_gap(values, active);
    std::vector<double> scores(d, -std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] == 0) continue;
        const double lead = largest - std::fabs(values[j]);
        scores[j] = n == 0.0 ? 0.0 : lead * lead / (4.0 * n) - gap;
    }
    return scores;
}

std::int64_t draw_vertex(const L1Gradient& gradient, VertexBounds& bounds, double epsilon,
                         BitSource& bits) {
    check_epsilon(epsilon);
    // A score s is numerator * l1 / denominator: its log-weight is slope * numerator.
    const double slope =
        (epsilon - kGroupedRounding) / (vertex_score_range(1.0) * gradient.denominator());
    const int128 reference = reference_for(bounds, slope);
    // Differences are exact before they are rounded.
    const auto log_weight = [&](int128 score) {
        return -slope * static_cast<double>(reference - score);
    };
    const auto log_bound = [&](std::size_t g) {
        const int128 bound = bounds.bound(g);
        return bound < 0 ? kNever : log_weight(bound);
    };

    std::vector<CandidateGroup> groups(bounds.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        groups[g] = {2 * bounds.count(g), log_bound(g)};
    }
    // Place 2 k stands for +e_j, place 2 k + 1 for -e_j, j the k-th column of the group.
    const auto column_at = [](std::uint64_t place) { return static_cast<std::size_t>(place / 2); };
    const auto chosen = choose_grouped(
        groups,
        [&](std::size_t g, std::uint64_t place) {
            const auto numerator = bounds.numerator(g, column_at(place));
            if (!numerator) return kNever;
            return log_weight(place % 2 == 0 ? -*numerator : *numerator);
        },
        [&](std::size_t g) {
            bounds.reject(g);
            return log_bound(g);
        },
        bits);
    const std::size_t j = bounds.column(chosen.group, column_at(chosen.place));
    const auto name = static_cast<std::int64_t>(j) + 1;
    return chosen.place % 2 == 0 ? name : -name;
}

std::vector<std::int32_t> random_start(std::size_t d, BitSource& bits) {
    // Of d + 1 exponential variables over their sum, the first d are uniform on the simplex
    // x >= 0, sum x <= 1.
    std::vector<double> parts(d);
    double sum = standard_exponential(bits);
    for (auto& part : parts) {
        part = standard_exponential(bits);
        sum += part;
    }
    std::vector<std::int32_t> start(d);
    std::int64_t left = kStartWeight;
    for (std::size_t j = 0; j < d; ++j) {
        const auto share = static_cast<std::int64_t>(
            std::floor(parts[j] / sum * static_cast<double>(kStartWeight)));
        // Never binding but for the rounding of the sum.
        const std::int64_t size = std::min(share, left);
        left -= size;
        start[j] = static_cast<std::int32_t>((bits.next() >> 63) != 0 ? -size : size);
    }
    return start;
}

FrankWolfeRun dp_frank_wolfe(L1Gradient& gradient, std::size_t steps, double epsilon_step,
                             const Screening& screening, BitSource& bits) {
    check_steps(steps);
    check_epsilon(epsilon_step);
    check_screening(screening);
    const bool screens = !screening.after.empty();
    // A screening score needs all gradients, so then all are kept up to date.
    std::vector<std::uint8_t> active(screens ? gradient.cols() : 0, 1);
    VertexBounds bounds =
        screens ? VertexBounds(gradient, active) : VertexBounds(gradient, epsilon_step);
    Walk walk{gradient, bounds, {}};
    for (std::size_t t = 1; t <= steps && walk.run.screened.size() < gradient.cols(); ++t) {
        walk.step(draw_vertex(gradient, bounds, epsilon_step, bits));
        if (std::binary_search(screening.after.begin(), screening.after.end(), t)) {
            screen_once(screening, active, walk, bits);
        }
    }
    return std::move(walk.run);
}

FrankWolfeRun frank_wolfe(L1Gradient& gradient, std::size_t steps) {
    check_steps(steps);
    VertexBounds bounds(gradient, std::vector<std::uint8_t>(gradient.cols(), 1));
    Walk walk{gradient, bounds, {}};
    for (std::size_t t = 1; t <= steps; ++t) walk.step(largest_vertex(bounds));
    return std::move(walk.run);
}

}  // namespace dpreg
