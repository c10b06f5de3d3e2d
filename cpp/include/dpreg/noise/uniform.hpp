#pragma once

#include <cstdint>

#include "dpreg/int128.hpp"
#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Exactly uniform on {0, ..., bound - 1}, by rejection.  Domain: bound >= 1.
std::uint64_t uniform_below(std::uint64_t bound, BitSource& bits);

/// Exactly uniform on {0, ..., bound - 1}, by rejection.  Domain: bound >= 1.
uint128 uniform_below(uint128 bound, BitSource& bits);

/// Uniform on (0, 1), rounded to a double with 52 bits at every magnitude: the relative
/// error is at most 2^-52 however small the value, down to 2^-1022.
double uniform_open(BitSource& bits);

/// A standard exponential variable, with full relative precision in both tails.
/// Idealised: the logarithm is the one of the C library.
double standard_exponential(BitSource& bits);

/// A standard Gumbel variable, -log of a standard exponential one: the maximum
/// of score_i + Gumbel_i falls on i with probability proportional to exp(score_i).
/// Idealised: the logarithms are those of the C library.
double standard_gumbel(BitSource& bits);

}  // namespace dpreg
