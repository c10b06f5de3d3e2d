#include "dpreg/stats/tail_votes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

/// Errors are clipped at this many units.
constexpr double kLargestError = 1e6;

/// `value` within [low, high]; the constant first: NaN becomes `low`.
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

/// Finds rows, of kPanel next to one another, for which `within` may be false: not 0.  There are as
/// many columns as lanes of a part, at least, and those of a row are next to one another.
struct FindOutside {
    template <class Lanes>
    DPREG_INLINE static void run(const MatrixView& x, std::size_t first, const Line& line,
                                 const Limits& limits, double* outside) {
        std::array<const double*, kPanel> rows{};
        for (std::size_t r = 0; r < kPanel; ++r) {
            rows[r] = x.data + static_cast<std::ptrdiff_t>(first + r) * x.row_stride;
        }
        const Lanes yes = Lanes::of(1.0);
        Lanes odd = Lanes::of(0.0);
        Lanes sum = Lanes::of(line.intercept);
        for (std::size_t j = 0; j < x.cols; j += Lanes::kSize) {
            const std::size_t at = std::min(j, x.cols - Lanes::kSize);
            const auto columns = columns_of<Lanes>(rows, at);
            for (std::size_t k = j; k < at + columns.size(); ++k) {
                const Lanes& value = columns[k - at];
                odd = if_above(value, limits.high[k], yes, odd);
                odd = if_above(-value, -limits.low[k], yes, odd);
                sum += line.slopes[k] * value;
            }
        }
        odd = if_above(sum, limits.high[x.cols], yes, odd);
        odd = if_above(-sum, -limits.low[x.cols], yes, odd);
        // With a value that is not finite the sum is not.
        (odd + sum * 0.0).store(outside);
    }
};

/// Calls use(row) for rows from `begin` to `end`, but some of those that are `within`.
template <class Use>
void visit_outside(const MatrixView& x, std::size_t begin, std::size_t end, const Line& line,
                   const Limits& limits, const Use& use) {
    constexpr LanesKernel<FindOutside> kernel;
    std::size_t first = begin;
    for (; x.col_stride == 1 && x.cols >= kPanel && first + kPanel <= end; first += kPanel) {
        std::array<double, kPanel> outside{};
        kernel(x, first, line, limits, outside.data());
        for (std::size_t r = 0; r < kPanel; ++r) {
            if (outside[r] != 0.0) use(first + r);
        }
    }
    for (; first < end; ++first) use(first);
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
            visit_outside(x, begin, end, line, shared, [&](std::size_t i) {
                // All sets predict the same.
                if (within(x, i, line, shared)) return;
                const double first = squared_error(i, limits[0]);
                for (std::size_t k = 1; k < limits.size(); ++k) {
                    const double vote = moved(first - squared_error(i, limits[k]), -1.0, 1.0);
                    votes[k - 1] += static_cast<std::int64_t>(std::nearbyint(vote * steps));
                }
            });
        });
}

}  // namespace dpreg
