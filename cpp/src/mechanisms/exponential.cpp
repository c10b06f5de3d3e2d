#include "dpreg/mechanisms/exponential.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/uniform.hpp"

namespace dpreg {
namespace {

constexpr int kWeightBits = 96;
constexpr double kNever = -std::numeric_limits<double>::infinity();

/// ceil(2^kWeightBits * exp(log_weight - largest)), but 0 for a log-weight of -infinity, or NaN.
///
/// Rounding up and not down, so that what is possible on one data set stays possible on its
/// neighbour.
uint128 integer_weight(double log_weight, double largest) {
    if (std::isnan(log_weight)) log_weight = kNever;
    // The difference of two infinities is not a number, but equal weights are equal.
    if (log_weight == largest) return uint128{1} << kWeightBits;
    if (!(log_weight > kNever)) return 0;
    return static_cast<uint128>(std::ceil(std::ldexp(std::exp(log_weight - largest), kWeightBits)));
}

}  // namespace

std::size_t choose_index(const std::vector<double>& log_weights, BitSource& bits) {
    require(!log_weights.empty() && log_weights.size() <= (std::size_t{1} << 30),
            "there must be between 1 and 2^30 weights");
    // What is not a number is never the largest, wherever it stands.
    const double largest = std::accumulate(log_weights.begin(), log_weights.end(), kNever,
                                           [](double a, double b) { return std::fmax(a, b); });
    uint128 total = 0;
    for (const double w : log_weights) total += integer_weight(w, largest);
    uint128 left = uniform_below(total, bits);
    for (std::size_t i = 0; i < log_weights.size(); ++i) {
        const uint128 weight = integer_weight(log_weights[i], largest);
        if (left < weight) return i;
        left -= weight;
    }
    return log_weights.size() - 1;  // not reached: the weights add up to `total`
}

}  // namespace dpreg
