#pragma once

#include "dpreg/int128.hpp"
#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// True with probability exactly exp(-numerator / denominator).
///
/// Domain   denominator in [1, 2^100].
/// Source   Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for
///          Differential Privacy", Algorithm 1.
bool bernoulli_exp(uint128 numerator, uint128 denominator, BitSource& bits);

}  // namespace dpreg
