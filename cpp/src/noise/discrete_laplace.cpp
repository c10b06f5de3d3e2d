#include "dpreg/noise/discrete_laplace.hpp"

#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/noise/bernoulli.hpp"
#include "dpreg/noise/uniform.hpp"

namespace dpreg {

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

}  // namespace dpreg
