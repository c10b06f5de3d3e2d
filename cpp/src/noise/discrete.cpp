#include "dpreg/noise/discrete.hpp"

#include <cmath>
#include <cstdint>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/uniform.hpp"

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

}  // namespace

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

namespace {

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

}  // namespace

std::vector<std::int64_t> discrete_gaussian(std::uint64_t sigma, std::size_t size,
                                            BitSource& bits) {
    require(sigma >= 1 && sigma <= kLargestGaussianScale, "sigma must be in [1, 2^44]");
    std::vector<std::int64_t> result(size);
    for (auto& x : result) x = draw(sigma, bits);
    return result;
}

}  // namespace dpreg
