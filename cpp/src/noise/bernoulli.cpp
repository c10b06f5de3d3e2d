#include "dpreg/noise/bernoulli.hpp"

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/uniform.hpp"

namespace dpreg {
namespace {

/// As bernoulli_exp, for numerator <= denominator.
bool bernoulli_exp_fraction(std::uint64_t numerator, std::uint64_t denominator, BitSource& bits) {
    // The number of successes before the first failure of Bernoulli(gamma/k),
    // k = 1, 2, ..., is even with probability exp(-gamma).
    for (std::uint64_t k = 1;; ++k) {
        const uint128 u = uniform_below(static_cast<uint128>(denominator) * k, bits);
        if (u >= numerator) return k % 2 == 1;
    }
}

}  // namespace

bool bernoulli_exp(std::uint64_t numerator, std::uint64_t denominator, BitSource& bits) {
    require(denominator >= 1 && denominator < (std::uint64_t{1} << 63),
            "denominator must be in [1, 2^63)");
    while (numerator > denominator) {
        if (!bernoulli_exp_fraction(denominator, denominator, bits)) return false;
        numerator -= denominator;
    }
    return bernoulli_exp_fraction(numerator, denominator, bits);
}

}  // namespace dpreg
