#include "dpreg/noise/samplers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"

namespace dpreg {
namespace {

/// As bernoulli_exp, for numerator <= denominator.
bool bernoulli_exp_fraction(uint128 numerator, uint128 denominator, BitSource& bits) {
    // The number of successes before the first failure of Bernoulli(gamma/k),
    // k = 1, 2, ..., is even with probability exp(-gamma).
    for (std::uint64_t k = 1;; ++k) {
        if (uniform_below(denominator * k, bits) >= numerator) return k % 2 == 1;
    }
}

std::int64_t draw(std::uint64_t sigma, BitSource& bits) {
    // A discrete Laplace variable of the same scale, kept with probability
    // exp(-(|y| - sigma)^2 / (2 sigma^2)), which turns its law into the Gaussian one.
    const uint128 denominator = 2 * static_cast<uint128>(sigma) * sigma;
    for (;;) {
        const std::int64_t y = discrete_laplace({1, sigma}, bits);
        const auto magnitude = static_cast<std::uint64_t>(y < 0 ? -y : y);
        const uint128 gap = magnitude > sigma ? magnitude - sigma : sigma - magnitude;
        if (bernoulli_exp(gap * gap, denominator, bits)) return y;
    }
}

std::size_t index_below(std::size_t bound, BitSource& bits) {
    return static_cast<std::size_t>(uniform_below(std::uint64_t{bound}, bits));
}

/// The first `count` elements of a uniformly random order of 0, ..., size - 1.
std::vector<std::size_t> random_injection(std::size_t count, std::size_t size, BitSource& bits) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t other = i + index_below(size - i, bits);
        std::swap(order[i], order[other]);
    }
    order.resize(count);
    return order;
}

}  // namespace

std::uint64_t uniform_below(std::uint64_t bound, BitSource& bits) {
    require(bound >= 1, "bound must be at least 1");
    // 2^64 - excess is the largest multiple of `bound` that fits in 64 bits.
    const std::uint64_t excess = (0 - bound) % bound;
    for (;;) {
        const std::uint64_t u = bits.next();
        if (u <= UINT64_MAX - excess) return u % bound;
    }
}

uint128 uniform_below(uint128 bound, BitSource& bits) {
    if (bound <= UINT64_MAX) return uniform_below(static_cast<std::uint64_t>(bound), bits);
    const uint128 excess = (uint128{0} - bound) % bound;
    for (;;) {
        const uint128 high = bits.next();
        const uint128 u = (high << 64) | bits.next();
        if (u <= ~uint128{0} - excess) return u % bound;
    }
}

double uniform_open(BitSource& bits) {
    // The exponent is geometric; 52 uniform bits and a half fill the rest, so
    // that neither end of the interval can be hit.
    int exponent = -1;
    std::uint64_t word = bits.next();
    while (word == 0 && exponent > -1000) {
        exponent -= 64;
        word = bits.next();
    }
    while (word != 0 && (word >> 63) == 0) {
        --exponent;
        word <<= 1;
    }
    const double mantissa = 1.0 + std::ldexp(static_cast<double>(bits.next() >> 13) + 0.5, -51);
    return std::ldexp(mantissa, exponent);
}

double standard_exponential(BitSource& bits) {
    // U or 1 - U is below 1/2; drawing which one, and then its value, keeps
    // the digits that 1 - U would lose.
    const bool upper_tail = (bits.next() >> 63) != 0;
    const double half = 0.5 * uniform_open(bits);
    return upper_tail ? -std::log(half) : -std::log1p(-half);
}

double standard_gumbel(BitSource& bits) { return -std::log(standard_exponential(bits)); }

bool bernoulli_exp(uint128 numerator, uint128 denominator, BitSource& bits) {
    require(denominator >= 1 && denominator <= (uint128{1} << 100),
            "denominator must be in [1, 2^100]");
    while (numerator > denominator) {
        if (!bernoulli_exp_fraction(denominator, denominator, bits)) return false;
        numerator -= denominator;
    }
    return bernoulli_exp_fraction(numerator, denominator, bits);
}

void check_noise_parameter(double x) {
    require(x >= 0x1p-40 && x <= 0x1p30, "a noise parameter must lie in [2^-40, 2^30]");
}

Fraction fraction_at_most(double x) {
    check_noise_parameter(x);
    int exponent = 0;
    std::frexp(x, &exponent);
    // x = mantissa * 2^(exponent - 53); the denominator stays below 2^62.
    const int shift = exponent > 53 ? 0 : (53 - exponent < 62 ? 53 - exponent : 62);
    auto numerator = static_cast<std::uint64_t>(std::floor(std::ldexp(x, shift)));
    std::uint64_t denominator = std::uint64_t{1} << shift;
    while (numerator % 2 == 0 && denominator > 1) {
        numerator /= 2;
        denominator /= 2;
    }
    return {numerator, denominator};
}

std::int64_t discrete_laplace(Fraction epsilon, BitSource& bits) {
    const auto s = epsilon.numerator;
    const auto t = epsilon.denominator;
    require(s >= 1 && t >= 1, "epsilon must be positive");
    for (;;) {
        // U + t V is geometric with ratio exp(-1/t); dividing by s makes it exp(-s/t).
        const auto u = uniform_below(t, bits);
        if (!bernoulli_exp(u, t, bits)) continue;
        std::uint64_t v = 0;
        while (bernoulli_exp(1, 1, bits)) ++v;
        const auto magnitude = static_cast<std::int64_t>((static_cast<uint128>(t) * v + u) / s);
        const bool negative = (bits.next() >> 63) != 0;
        if (negative && magnitude == 0) continue;
        return negative ? -magnitude : magnitude;
    }
}

double discrete_laplace_tail(std::int64_t x, double epsilon) {
    return std::exp(-epsilon * static_cast<double>(x)) / (1.0 + std::exp(-epsilon));
}

std::vector<std::int64_t> discrete_gaussian(std::uint64_t sigma, std::size_t size,
                                            BitSource& bits) {
    require(sigma >= 1 && sigma <= kLargestGaussianScale, "sigma must be in [1, 2^44]");
    std::vector<std::int64_t> result(size);
    for (auto& x : result) x = draw(sigma, bits);
    return result;
}

double noise_from_log_hazard(double log_q, NoiseLaw law) {
    if (law == NoiseLaw::kGumbel) return -log_q;
    // -log(1 - e^-q), each branch where it loses no digits.
    if (log_q < -37.0) return -log_q;
    const double q = std::exp(log_q);
    if (q < std::log(2.0)) return -std::log(-std::expm1(-q));
    return -std::log1p(-std::exp(-q));
}

double largest_of(double log_count, NoiseLaw law, BitSource& bits) {
    require(log_count >= 0.0 && std::isfinite(log_count), "log_count must be finite, at least 0");
    return noise_from_log_hazard(std::log(standard_exponential(bits)) - log_count, law);
}

std::vector<std::uint64_t> random_subset(std::uint64_t size, std::size_t count, BitSource& bits) {
    require(count <= size, "a subset cannot be larger than its set");
    // Floyd's method (Bentley and Floyd, 1987): one uniform integer an element.
    std::unordered_set<std::uint64_t> chosen;
    chosen.reserve(count);
    for (std::uint64_t last = size - count; last < size; ++last) {
        const auto element = uniform_below(last + 1, bits);
        if (!chosen.insert(element).second) chosen.insert(last);
    }
    std::vector<std::uint64_t> result(chosen.begin(), chosen.end());
    std::sort(result.begin(), result.end());
    return result;
}

Assignment assign_to_slots(std::size_t n, std::size_t models, std::size_t batch, BitSource& bits) {
    require(models >= 1 && batch >= 1, "models and batch must be at least 1");
    constexpr std::uint64_t kMostSlots = std::min(std::uint64_t{1} << 48, std::uint64_t{SIZE_MAX});
    require(batch <= kMostSlots / models, "models * batch must be below 2^48, and fit a size");
    const std::size_t slots = models * batch;
    // A random order of max(n, slots) places, of which the first `slots` are the slots: what
    // they hold is a random injection of units into slots or of slots into units.
    const auto order = random_injection(slots, std::max(n, slots), bits);
    Assignment result;
    result.members.reserve(std::min(n, slots));
    result.offsets.assign(1, 0);
    for (std::size_t s = 0; s < slots; ++s) {
        if (order[s] < n) result.members.push_back(order[s]);
        if ((s + 1) % batch == 0) result.offsets.push_back(result.members.size());
    }
    return result;
}

Assignment assign_independently(std::size_t n, std::size_t models, BitSource& bits) {
    require(models >= 1, "models must be at least 1");
    std::vector<std::size_t> model_of(n);
    for (auto& model : model_of) model = index_below(models, bits);

    Assignment result;
    result.offsets.assign(models + 1, 0);
    for (const auto model : model_of) ++result.offsets[model + 1];
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    result.members.resize(n);
    auto next = result.offsets;
    // Units enter in a random order, so that their order within a model is random.
    for (const auto unit : random_injection(n, n, bits))
        result.members[next[model_of[unit]]++] = unit;
    return result;
}

}  // namespace dpreg
