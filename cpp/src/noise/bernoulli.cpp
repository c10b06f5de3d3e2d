#include "dpreg/noise/bernoulli.hpp"

#include <cstdint>

#include "dpreg/error.hpp"
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

}  // namespace dpreg
