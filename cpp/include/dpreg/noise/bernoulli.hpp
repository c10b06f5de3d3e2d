#pragma once

#include <cstdint>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// True with probability exactly exp(-numerator / denominator).
///
/// Domain   denominator in [1, 2^63).
/// Source   Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for
///          Differential Privacy", Algorithm 1.
bool bernoulli_exp(std::uint64_t numerator, std::uint64_t denominator, BitSource& bits);

}  // namespace dpreg
