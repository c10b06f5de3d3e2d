// Sums over rows: times clipped residuals, and products weighted by the curvature of a loss.
#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include "dpreg/error.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// Adds up p q and, at the end of `sums`, p^2.
void add_round(const Block& block, const ShortTheta& theta, double clip, Totals& sums) {
    std::array<std::int16_t, kShortRows> steps{};
    over_rows(
        block, theta,
        [&](std::size_t i, const auto& terms) DPREG_INLINE_LAMBDA {
            // NaN becomes -1.
            nearest(kRowSteps * clipped(terms.residual / clip, -1.0, 1.0)).store(&steps[i]);
        },
        [&](auto, std::size_t first, std::size_t count) DPREG_INLINE_LAMBDA {
            std::fill(steps.begin() + count, steps.end(), std::int16_t{0});
            add_short_multiples(block.q + first * block.stride, block.stride, count, steps.data(),
                                sums);
            for (const std::int64_t step : steps) sums.back() += step * step;
        });
}

/// Copies of some rows, beside one another.
class RowSample {
public:
    RowSample(const Block& all, std::size_t most)
        : all_(all), q_(most * all.stride), y_(most), weights_(most), given_(most) {}

    Block of(const std::size_t* rows, std::size_t count) {
        const bool weighed = all_.weights != nullptr;
        for (std::size_t k = 0; k < count; ++k) {
            const std::int16_t* row = all_.q + rows[k] * all_.stride;
            std::copy(row, row + all_.stride, q_.data() + k * all_.stride);
            y_[k] = all_.y[rows[k]];
            if (!weighed) continue;
            weights_[k] = all_.weights[rows[k]];
            given_[k] = all_.given[rows[k]];
        }
        Block block = all_;
        block.q = q_.data();
        block.y = y_.data();
        block.rows = count;
        block.weights = weighed ? weights_.data() : nullptr;
        block.given = weighed ? given_.data() : nullptr;
        return block;
    }

private:
    Block all_;
    Shorts q_;
    std::vector<double> y_, weights_, given_;
};

}  // namespace

double gradient_sensitivity(std::size_t width) { return kRowSteps * row_norm(width); }

QuantisedRows::Round QuantisedRows::round(const std::vector<double>& theta, double clip,
                                          const std::vector<std::size_t>* sample) const {
    require(theta.size() == width() && clip > 0.0, "theta must have width() entries, clip be > 0");
    const auto coefficients = short_theta(theta, stride_);
    auto sums = sum_over_rows(
        sample == nullptr ? rows() : sample->size(), stride_ + 1,
        [&](std::size_t begin, std::size_t end, auto& own) {
            if (sample == nullptr) {
                return add_round(block(begin, end - begin), coefficients, clip, own);
            }
            RowSample copies(block(0, rows()), kShortRows);
            for (std::size_t first = begin; first < end; first += kShortRows) {
                const std::size_t count = std::min(kShortRows, end - first);
                add_round(copies.of(sample->data() + first, count), coefficients, clip, own);
            }
        });
    const std::int64_t squares = sums.back();
    sums.resize(width());
    return {std::move(sums), squares};
}

double curvature_sensitivity(std::size_t width) { return gram_sensitivity(width); }

std::vector<std::int64_t> QuantisedRows::curvature(const std::vector<double>& theta,
                                                   double limit) const {
    require(theta.size() == width() && limit > 0.0,
            "theta must have width() entries, limit be > 0");
    const auto coefficients = short_theta(theta, stride_);
    const double per_row = parts_.limit / limit;
    // So that it is no longer than kRowSteps.
    const auto factor = [&](const auto& terms) DPREG_INLINE_LAMBDA {
        using Lanes = std::decay_t<decltype(terms.square)>;
        const Lanes most = kRowSteps / above(root(terms.square), Lanes::of(1.0));
        // NaN becomes 0.
        return below(root(above(terms.curvature, Lanes::of(0.0))) * per_row, most);
    };
    return sum_of_products(rows(), width(),
                           [&](std::size_t first, std::size_t count, std::int16_t* room) {
                               write_multiples(block(first, count), coefficients, factor, room);
                               return room;
                           });
}

}  // namespace dpreg
