// The curvature of scores that stop at their limit.
#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "stopped_scores.hpp"

namespace dpreg {
namespace {

/// The rows of units times the root of their curvature, with a few entries of them.
class Followed {
public:
    /// per_row: what entries of rows are multiplied by beside; leading: so many entries are kept.
    Followed(const ShortTheta& theta, const ScoreLimit& stop, double per_row, std::size_t leading,
             std::size_t stride)
        : theta_(theta),
          stop_(stop),
          per_row_(per_row),
          leading_(leading),
          stride_(padded(leading)),
          walk_(stride),
          room_(kGramRows * stride_),
          products_(stride_) {}

    /// Adds the rows of a unit, unless its score stops: then it does not change with theta.
    void add(const Block& rows) {
        if (!walk_.walk(rows, theta_, stop_)) return;
        const double length = lengths(rows);
        const double share = length > kRowSteps ? kRowSteps / length : 1.0;
        for (std::size_t i = 0; i < rows.rows; ++i) {
            if (held_ == kGramRows) flush();
            const std::int16_t* q = rows.q + i * rows.stride;
            std::int16_t* u = room_.data() + held_++ * stride_;
            for (std::size_t j = 0; j < leading_; ++j) {
                u[j] = static_cast<std::int16_t>(std::trunc(factors_[i] * share * q[j]));
            }
        }
    }

    void add_to(std::vector<std::int64_t>& sums) {
        flush();
        products_.add_to(sums, leading_);
    }

private:
    /// Sets the factors of rows; returns the length of all of them together.
    double lengths(const Block& rows) {
        factors_.resize(rows.rows);
        RowTerms terms;
        double curvature = 0.0, sum = 0.0;
        const auto take = [&](std::size_t, const auto& lanes) { curvature = lanes.curvature[0]; };
        for (std::size_t i = 0; i < rows.rows; ++i) {
            over_lanes<LanesOf<16>>(rows, theta_, i, 1, terms, take);
            const std::int16_t* q = rows.q + i * rows.stride;
            double square = 0.0;
            for (std::size_t j = 0; j < leading_; ++j) square += static_cast<double>(q[j]) * q[j];
            // A NaN curvature becomes 0, and then a factor the most.
            factors_[i] = std::min(kMostFactor, std::sqrt(std::max(0.0, curvature)) * per_row_);
            sum += factors_[i] * factors_[i] * square;
        }
        return std::sqrt(sum);
    }

    void flush() {
        products_.add(room_.data(), held_);
        held_ = 0;
    }

    /// Rows that are longer are shortened in any case.
    static constexpr double kMostFactor = 1048576.0;  // 2^20

    const ShortTheta& theta_;
    const ScoreLimit& stop_;
    double per_row_;
    std::size_t leading_, stride_;
    Stopped walk_;
    Shorts room_;
    ShortGram products_;
    std::vector<double> factors_;
    std::size_t held_ = 0;
};

}  // namespace

double followed_curvature_sensitivity(std::size_t width) { return gram_sensitivity(width); }

std::vector<std::int64_t> QuantisedRows::followed_curvature(const std::vector<double>& theta,
                                                            double stop, double limit,
                                                            std::size_t leading) const {
    require(theta.size() == width() && stop > 0.0 && limit > 0.0 && leading <= width(),
            "theta must have width() entries, both limits be > 0, leading be at most width()");
    require(parts_.loss.kind == LossKind::counting, "only scores of the counting loss stop");
    const auto coefficients = short_theta(theta, stride_);
    const ScoreLimit steps(stop, parts_.limit / kRowSteps);
    auto result = sum_over_rows(
        units(), leading * leading, [&](std::size_t begin, std::size_t end, auto& own) {
            Followed followed(coefficients, steps, parts_.limit / limit, leading, stride_);
            for (std::size_t u = begin; u < end; ++u) {
                followed.add(single() ? block(u, 1) : block_of(u));
            }
            followed.add_to(own);
        });
    for (std::size_t i = 0; i < leading; ++i) {
        for (std::size_t j = 0; j < i; ++j) result[i * leading + j] = result[j * leading + i];
    }
    return result;
}

}  // namespace dpreg
