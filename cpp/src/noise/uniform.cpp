#include "dpreg/noise/uniform.hpp"

#include <cmath>

#include "dpreg/error.hpp"

namespace dpreg {

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

}  // namespace dpreg
