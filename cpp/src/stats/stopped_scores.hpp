// Scores of units whose rows follow each other in time, which stop at their limit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "row_residuals.hpp"

namespace dpreg {

/// The limit of a score in integers: p q stands for limit / kScoreSteps times as much.
struct ScoreLimit {
    double per_residual;  ///< p of a residual of 1

    ScoreLimit(double limit, double row_unit) : per_residual(kScoreSteps * row_unit / limit) {}

    /// The residuals as integers p with |p| |q| <= kScoreSteps + |q| / 2.
    template <class Lanes>
    DPREG_INLINE Lanes operator()(const Lanes& residual, const Lanes& square) const {
        const Lanes most = kScoreSteps / above(root(square), Lanes::of(1.0));
        // NaN becomes the least.
        return nearest(below(above(residual * per_residual, -most), most));
    }
};

inline double norm_of(const std::vector<double>& values) {
    double square = 0.0;
    for (const double value : values) square += value * value;
    return std::sqrt(square);
}

/// The score of a unit whose rows follow each other in time, no longer than that of one may be.
class Stopped {
public:
    explicit Stopped(std::size_t stride) : sum_(stride) {}

    const std::vector<double>& of(const Block& rows, const ShortTheta& theta,
                                  const ScoreLimit& limit) {
        walk(rows, theta, limit);
        const double norm = norm_of(sum_);
        const double share = norm > kScoreSteps ? kScoreSteps / norm : 1.0;
        for (auto& entry : sum_) entry = std::trunc(entry * share);
        return sum_;
    }

    /// Goes through the rows; returns whether the end was reached before the limit.
    bool walk(const Block& rows, const ShortTheta& theta, const ScoreLimit& limit) {
        std::fill(sum_.begin(), sum_.end(), 0.0);
        bool inside = true;
        RowTerms terms;
        double residual = 0.0;
        const auto take = [&](std::size_t, const auto& lanes) { residual = lanes.residual[0]; };
        for (std::size_t i = 0; i < rows.rows && inside; ++i) {
            over_lanes<LanesOf<16>>(rows, theta, i, 1, terms, take);
            const double event = terms.y[0] * terms.weight[0];
            const std::int16_t* q = rows.q + i * rows.stride;
            inside = drift(q, terms.square[0], limit.per_residual * (residual - event));
            if (inside) inside = jump(q, terms.square[0], limit.per_residual * event);
        }
        return inside;
    }

private:
    /// Adds p q, up to where the sum is kScoreSteps long; returns whether all of it was added.
    bool drift(const std::int16_t* q, double square, double p) {
        const double most = kFarthest / std::sqrt(std::max(square, 1.0));
        p = std::min(std::max(-most, p), most);  // NaN becomes the least
        double along = 0.0, length = 0.0;
        for (std::size_t j = 0; j < sum_.size(); ++j) {
            along += sum_[j] * q[j];
            length += sum_[j] * sum_[j];
        }
        const double a = p * p * square, b = p * along;
        const double room = std::max(0.0, kScoreSteps * kScoreSteps - length);
        if (a < kNothing || a + 2.0 * b <= room) {
            add(q, p);
            return true;
        }
        add(q, p * ((std::sqrt(b * b + a * room) - b) / a));
        return false;
    }

    /// Adds p q; returns whether the sum is no longer than kScoreSteps.
    bool jump(const std::int16_t* q, double square, double p) {
        const double most = kFarthest / std::sqrt(std::max(square, 1.0));
        add(q, std::min(std::max(-most, p), most));
        return norm_of(sum_) <= kScoreSteps;
    }

    void add(const std::int16_t* q, double p) {
        for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += p * q[j];
    }

    /// Steps from anywhere inside that are longer end outside.
    static constexpr double kFarthest = 4.0 * kScoreSteps;
    /// Squares of steps that are shorter may have lost their bits.
    static constexpr double kNothing = 1e-200;

    std::vector<double> sum_;
};

}  // namespace dpreg
