// Scores of units: residuals times rows, added up by unit and shortened.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"
#include "stopped_scores.hpp"

namespace dpreg {
namespace {

/// Residuals in norms of scores are rounded to this, so that sums of them do not depend on order.
constexpr double kResidualSteps = 1048576.0;  // 2^20
constexpr double kMostResidual = 2147483648.0;

/// Sum of p q over rows.
class ScoreSums {
public:
    explicit ScoreSums(std::size_t stride) : high_(stride, 0), low_(stride, 0) {}

    void add(const Block& block, const ShortTheta& theta, const ScoreLimit& limit) {
        // p is kMostMultiplier times `high` and `low`.
        std::array<std::int16_t, kShortRows> high{}, low{};
        over_rows(
            block, theta,
            [&](std::size_t i, const auto& terms) DPREG_INLINE_LAMBDA {
                const auto p = limit(terms.residual, terms.square);
                const auto upper = nearest(p * (1.0 / kMostMultiplier));
                upper.store(&high[i]);
                (p - upper * kMostMultiplier).store(&low[i]);
            },
            [&](auto, std::size_t first, std::size_t count) DPREG_INLINE_LAMBDA {
                const std::int16_t* q = block.q + first * block.stride;
                std::fill(high.begin() + count, high.end(), std::int16_t{0});
                std::fill(low.begin() + count, low.end(), std::int16_t{0});
                add_half_multiples(q, block.stride, count, high.data(), high_);
                add_half_multiples(q, block.stride, count, low.data(), low_);
            });
    }

    /// Returns the sum, and starts again.
    Totals take() {
        Totals sum(low_);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += kMostMultiplier * high_[j];
        std::fill(high_.begin(), high_.end(), 0);
        std::fill(low_.begin(), low_.end(), 0);
        return sum;
    }

private:
    Totals high_;
    Totals low_;
};

/// A score of several rows, no longer than that of one may be; that of one is at most 1 below
/// it, so that the half is for the rounding of the norm.
std::vector<double> shortened(const Totals& score, double most) {
    std::vector<double> result(score.begin(), score.end());
    const double norm = norm_of(result);
    if (norm <= most - 0.5) return result;
    for (auto& entry : result) entry = std::trunc(entry * (kScoreSteps / norm));
    return result;
}

/// The scores of units, one after another.
class UnitScores {
public:
    UnitScores(std::size_t width, std::size_t stride)
        : most_(score_sensitivity(width)), sums_(stride), stopped_(stride) {}

    std::vector<double> of(const Block& rows, const ShortTheta& theta, const ScoreLimit& limit) {
        if (rows.loss->kind == LossKind::counting) return stopped_.of(rows, theta, limit);
        sums_.add(rows, theta, limit);
        return shortened(sums_.take(), most_);
    }

private:
    double most_;
    ScoreSums sums_;
    Stopped stopped_;
};

/// Calls use(norm) with that of the score of each row, in units of rows.
template <class Use>
void visit_norms(const Block& block, const ShortTheta& theta, const Use& use) {
    RowNumbers norms;
    over_rows(
        block, theta,
        [&](std::size_t i, const auto& terms)
            DPREG_INLINE_LAMBDA { (terms.residual * root(terms.square)).store(&norms[i]); },
        [&](auto, std::size_t, std::size_t count) DPREG_INLINE_LAMBDA {
            for (std::size_t i = 0; i < count; ++i) use(std::fabs(norms[i]));
        });
}

/// The norm of the score of several rows, in units of rows.
double unit_norm(const Block& rows, const ShortTheta& theta) {
    RowNumbers steps;
    std::vector<double> sum(rows.stride, 0.0);
    over_rows(
        rows, theta,
        [&](std::size_t i, const auto& terms) DPREG_INLINE_LAMBDA {
            const auto scaled = terms.residual * kResidualSteps;
            nearest(clipped(scaled, -kMostResidual, kMostResidual)).store(&steps[i]);
        },
        [&](auto, std::size_t first, std::size_t count) DPREG_INLINE_LAMBDA {
            for (std::size_t i = 0; i < count; ++i) {
                const std::int16_t* q = rows.q + (first + i) * rows.stride;
                for (std::size_t j = 0; j < rows.stride; ++j) sum[j] += steps[i] * q[j];
            }
        });
    return norm_of(sum) / kResidualSteps;
}

/// Half octaves above the least.
std::size_t score_bin(double norm) {
    if (!(norm > 0.0)) return 0;
    constexpr std::uint64_t fraction = (std::uint64_t{1} << 52) - 1;
    constexpr std::uint64_t root_half = 0x6a09e667f3bcd;  // the fraction of the root of a half
    constexpr int bias = 1023;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &norm, sizeof bits);
    // Of infinity, and of what has fewer bits, it is beyond the ends.
    const int octave = static_cast<int>(bits >> 52) - bias;
    const int half = 2 * octave + ((bits & fraction) >= root_half ? 1 : 0);
    const int last = static_cast<int>(kScoreBins) - 1;
    return static_cast<std::size_t>(std::min(std::max(half - kLeastScoreBin, 0), last));
}

}  // namespace

double score_sensitivity(std::size_t width) { return kScoreSteps + 0.5 * row_norm(width) + 1.0; }

double score_products_sensitivity(std::size_t width) {
    // |v| <= kRowSteps score_sensitivity / kScoreSteps, and rounding.
    const double norm = kRowSteps + 1.0 + 0.5 * std::sqrt(static_cast<double>(width));
    return norm * norm;
}

std::vector<std::int64_t> QuantisedRows::score(const std::vector<double>& theta,
                                               double limit) const {
    require(theta.size() == width() && limit > 0.0,
            "theta must have width() entries, limit be > 0");
    const auto coefficients = short_theta(theta, stride_);
    const ScoreLimit steps(limit, parts_.limit / kRowSteps);
    auto result =
        sum_over_rows(units(), stride_, [&](std::size_t begin, std::size_t end, auto& totals) {
            if (single()) {
                ScoreSums sums(stride_);
                sums.add(block(begin, end - begin), coefficients, steps);
                totals = sums.take();
            }
            UnitScores scores(width(), stride_);
            for (std::size_t u = begin; u < end && !single(); ++u) {
                const auto one = scores.of(block_of(u), coefficients, steps);
                for (std::size_t j = 0; j < stride_; ++j) {
                    totals[j] += static_cast<std::int64_t>(one[j]);
                }
            }
        });
    result.resize(width());
    return result;
}

std::vector<std::int64_t> QuantisedRows::score_norms(const std::vector<double>& theta) const {
    require(theta.size() == width(), "theta must have width() entries");
    const auto coefficients = short_theta(theta, stride_);
    const double row_unit = parts_.limit / kRowSteps;
    return sum_over_rows(
        units(), kScoreBins, [&](std::size_t begin, std::size_t end, auto& counts) {
            const auto count = [&](double norm) { ++counts[score_bin(norm * row_unit)]; };
            if (single()) {
                visit_norms(block(begin, end - begin), coefficients, count);
                return;
            }
            for (std::size_t u = begin; u < end; ++u) {
                const Block rows = block_of(u);
                if (rows.rows == 1) {
                    visit_norms(rows, coefficients, count);
                } else {
                    count(unit_norm(rows, coefficients));
                }
            }
        });
}

std::vector<std::int64_t> QuantisedRows::score_products(const std::vector<double>& theta,
                                                        double limit) const {
    require(theta.size() == width() && limit > 0.0,
            "theta must have width() entries, limit be > 0");
    const auto coefficients = short_theta(theta, stride_);
    const ScoreLimit steps(limit, parts_.limit / kRowSteps);
    return sum_of_products(
        units(), width(), [&](std::size_t first, std::size_t count, std::int16_t* room) {
            if (single()) {
                write_multiples(
                    block(first, count), coefficients,
                    [&](const auto& terms) DPREG_INLINE_LAMBDA {
                        return steps(terms.residual, terms.square) * (kRowSteps / kScoreSteps);
                    },
                    room);
                return room;
            }
            UnitScores scores(width(), stride_);
            for (std::size_t u = first; u < first + count; ++u) {
                const auto one = scores.of(block_of(u), coefficients, steps);
                std::int16_t* v = room + (u - first) * stride_;
                for (std::size_t j = 0; j < stride_; ++j) {
                    v[j] = static_cast<std::int16_t>(
                        std::nearbyint(one[j] * (kRowSteps / kScoreSteps)));
                }
            }
            return room;
        });
}

}  // namespace dpreg
