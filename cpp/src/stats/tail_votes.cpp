#include "dpreg/stats/tail_votes.hpp"

#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

/// Errors beyond this many units have had their say.
constexpr double kLargestError = 1e6;

/// `value` within [low, high]; the constant first: what is not a number becomes `low`.
double moved(double value, double low, double high) { return std::min(std::max(low, value), high); }

double prediction(const MatrixView& x, std::size_t row, const Line& line, const Limits& limits) {
    double sum = line.intercept;
    for (std::size_t j = 0; j < x.cols; ++j)
        sum += line.slopes[j] * moved(x(row, j), limits.low[j], limits.high[j]);
    return moved(sum, limits.low[x.cols], limits.high[x.cols]);
}

/// What is within all of the limits.
Limits common(const std::vector<Limits>& all) {
    Limits result = all[0];
    for (const auto& set : all) {
        for (std::size_t j = 0; j < set.low.size(); ++j) {
            result.low[j] = std::max(result.low[j], set.low[j]);
            result.high[j] = std::min(result.high[j], set.high[j]);
        }
    }
    return result;
}

/// Whether these limits move neither a cell nor the prediction; false if one is not a number.
bool within(const MatrixView& x, std::size_t row, const Line& line, const Limits& limits) {
    double sum = line.intercept;
    bool inside = true;
    for (std::size_t j = 0; j < x.cols; ++j) {
        const double value = x(row, j);
        inside = inside && value >= limits.low[j] && value <= limits.high[j];
        sum += line.slopes[j] * value;
    }
    return inside && sum >= limits.low[x.cols] && sum <= limits.high[x.cols];
}

}  // namespace

double tail_votes_sensitivity(std::size_t sets) {
    require(sets >= 2, "one set of limits leaves nothing to vote on");
    return static_cast<double>(kVoteSteps) * std::sqrt(static_cast<double>(sets - 1));
}

std::vector<std::int64_t> tail_votes(const MatrixView& x, const VectorView& y, const Line& line,
                                     const std::vector<Limits>& limits, double unit) {
    require(limits.size() >= 2 && unit > 0.0 && y.size == x.rows && line.slopes.size() == x.cols,
            "expected two sets of limits, unit > 0, a response a row and a slope a column");
    for (const auto& set : limits)
        require(set.low.size() == x.cols + 1 && set.high.size() == x.cols + 1,
                "limits must have one entry a column and one for the response");
    const auto squared_error = [&](std::size_t i, const Limits& set) {
        const double error = (y[i] - prediction(x, i, line, set)) / unit;
        const double size = moved(error, -kLargestError, kLargestError);
        return size * size;
    };
    const auto steps = static_cast<double>(kVoteSteps);
    const Limits shared = common(limits);
    return sum_over_rows(
        x.rows, limits.size() - 1, [&](std::size_t begin, std::size_t end, auto& votes) {
            for (std::size_t i = begin; i < end; ++i) {
                // All sets predict the same.
                if (within(x, i, line, shared)) continue;
                const double first = squared_error(i, limits[0]);
                for (std::size_t k = 1; k < limits.size(); ++k) {
                    const double vote = moved(first - squared_error(i, limits[k]), -1.0, 1.0);
                    votes[k - 1] += static_cast<std::int64_t>(std::nearbyint(vote * steps));
                }
            }
        });
}

}  // namespace dpreg
