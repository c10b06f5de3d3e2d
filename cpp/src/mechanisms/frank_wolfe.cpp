#include "dpreg/mechanisms/frank_wolfe.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/grouped_exponential.hpp"
#include "dpreg/noise/exponential.hpp"
#include "dpreg/stats/screening.hpp"

namespace dpreg {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

int128 size_of(int128 x) { return x < 0 ? -x : x; }

/// The largest |numerator| in each run of kGroupSize columns; -1 where none is active.
std::vector<int128> largest_by_group(const L1Gradient& gradient,
                                     const std::vector<std::uint8_t>& active) {
    const std::size_t d = gradient.cols();
    std::vector<int128> largest((d + kGroupSize - 1) / kGroupSize, -1);
    for (std::size_t g = 0; g < largest.size(); ++g) {
        const std::size_t end = std::min(d, (g + 1) * kGroupSize);
        for (std::size_t j = g * kGroupSize; j < end; ++j) {
            const int128 size = size_of(gradient.numerator(j));
            if (active[j] != 0 && size > largest[g]) largest[g] = size;
        }
    }
    return largest;
}

void check_epsilon(double epsilon) {
    require(epsilon >= kLeastStepEpsilon && epsilon <= kLargestStepEpsilon,
            "the epsilon of one step must be between 2^-30 and 1000: fewer steps have larger ones");
}

std::size_t column_of(std::int64_t vertex) {
    return static_cast<std::size_t>(vertex < 0 ? -vertex : vertex) - 1;
}

/// Takes coordinates out of the problem, for good.
void screen(std::size_t j, std::size_t step, L1Gradient& gradient,
            std::vector<std::uint8_t>& active, FrankWolfeRun& run) {
    active[j] = 0;
    gradient.drop(j);
    run.screened.push_back(static_cast<std::int64_t>(j));
    run.screened_at.push_back(static_cast<std::int64_t>(step));
}

void screen_after(std::size_t step, const Screening& screening, L1Gradient& gradient,
                  std::vector<std::uint8_t>& active, FrankWolfeRun& run, BitSource& bits) {
    auto scores = screening_scores(gradient, active);
    const double slope =
        (screening.epsilon - kGroupedRounding) / (kScreeningRange + kScreeningRounding);
    for (auto& score : scores) score *= slope;
    if (screening.rule == ScreenRule::kOne) {
        scores.push_back(screening.margin);
        const std::size_t j = choose_among(scores, bits);
        if (j < gradient.cols()) screen(j, step, gradient, active, run);
        return;
    }
    for (std::size_t j = 0; j < gradient.cols(); ++j) {
        if (active[j] == 0) continue;
        if (choose_among({scores[j], screening.margin}, bits) == 0) {
            screen(j, step, gradient, active, run);
        }
    }
}

/// `choose` names a vertex; `after` looks at the state after each step.
template <class Choose, class After>
FrankWolfeRun run_steps(L1Gradient& gradient, std::size_t steps, Choose choose, After after) {
    require(steps >= 1 && steps <= kMaxSteps, "steps must be between 1 and 32000");
    std::vector<std::uint8_t> active(gradient.cols(), 1);
    FrankWolfeRun run;
    run.path.reserve(steps);
    for (std::size_t t = 1; t <= steps && run.screened.size() < gradient.cols(); ++t) {
        const std::int64_t vertex = choose(active);
        gradient.step(column_of(vertex), vertex > 0);
        run.path.push_back(vertex);
        after(t, active, run);
    }
    run.weights = gradient.weights();
    return run;
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

}  // namespace

std::int64_t draw_vertex(const L1Gradient& gradient, const std::vector<std::uint8_t>& active,
                         double epsilon, BitSource& bits) {
    check_epsilon(epsilon);
    const auto largest = largest_by_group(gradient, active);
    const int128 reference = *std::max_element(largest.begin(), largest.end());
    require(reference >= 0, "some column must be active");
    // A score s is numerator * l1 / denominator: its log-weight is slope * numerator.
    const double slope =
        (epsilon - kGroupedRounding) / (vertex_score_range(1.0) * gradient.denominator());
    // Differences are exact before they are rounded.
    const auto log_weight = [&](int128 score) {
        return -slope * static_cast<double>(reference - score);
    };

    std::vector<CandidateGroup> groups(largest.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::size_t size = std::min(kGroupSize, gradient.cols() - g * kGroupSize);
        groups[g] = {2 * size, largest[g] < 0 ? kNever : log_weight(largest[g])};
    }
    // Place 2 k stands for +e_j, place 2 k + 1 for -e_j, j the k-th column of the group.
    const auto chosen = choose_grouped(
        groups,
        [&](std::size_t g, std::uint64_t place) {
            const std::size_t j = g * kGroupSize + place / 2;
            if (active[j] == 0) return kNever;
            const int128 numerator = gradient.numerator(j);
            return log_weight(place % 2 == 0 ? -numerator : numerator);
        },
        bits);
    const auto name = static_cast<std::int64_t>(chosen.group * kGroupSize + chosen.place / 2 + 1);
    return chosen.place % 2 == 0 ? name : -name;
}

std::vector<std::int64_t> random_start(std::size_t d, BitSource& bits) {
    // Of d + 1 exponential variables over their sum, the first d are uniform on the simplex
    // x >= 0, sum x <= 1.
    std::vector<double> parts(d);
    double sum = standard_exponential(bits);
    for (auto& part : parts) {
        part = standard_exponential(bits);
        sum += part;
    }
    std::vector<std::int64_t> start(d);
    std::int64_t left = kStartWeight;
    for (std::size_t j = 0; j < d; ++j) {
        const auto share = static_cast<std::int64_t>(
            std::floor(parts[j] / sum * static_cast<double>(kStartWeight)));
        // Never binding but for the rounding of the sum.
        const std::int64_t size = std::min(share, left);
        left -= size;
        start[j] = (bits.next() >> 63) != 0 ? -size : size;
    }
    return start;
}

FrankWolfeRun dp_frank_wolfe(L1Gradient& gradient, std::size_t steps, double epsilon_step,
                             const Screening& screening, BitSource& bits) {
    check_epsilon(epsilon_step);
    check_screening(screening);
    return run_steps(
        gradient, steps,
        [&](const std::vector<std::uint8_t>& active) {
            return draw_vertex(gradient, active, epsilon_step, bits);
        },
        [&](std::size_t t, std::vector<std::uint8_t>& active, FrankWolfeRun& run) {
            if (std::binary_search(screening.after.begin(), screening.after.end(), t)) {
                screen_after(t, screening, gradient, active, run, bits);
            }
        });
}

FrankWolfeRun frank_wolfe(L1Gradient& gradient, std::size_t steps) {
    return run_steps(
        gradient, steps,
        [&](const std::vector<std::uint8_t>&) {
            std::size_t best = 0;
            for (std::size_t j = 1; j < gradient.cols(); ++j) {
                if (size_of(gradient.numerator(j)) > size_of(gradient.numerator(best))) best = j;
            }
            const auto name = static_cast<std::int64_t>(best + 1);
            return gradient.numerator(best) > 0 ? -name : name;
        },
        [](std::size_t, const std::vector<std::uint8_t>&, const FrankWolfeRun&) {});
}

}  // namespace dpreg
