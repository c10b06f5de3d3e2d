#pragma once

#include <cstdint>

#include "dpreg/int128.hpp"
#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Exactly uniform on {0, ..., bound - 1}, by rejection.  Domain: bound >= 1.
std::uint64_t uniform_below(std::uint64_t bound, BitSource& bits);

/// Exactly uniform on {0, ..., bound - 1}, by rejection.  Domain: bound >= 1.
uint128 uniform_below(uint128 bound, BitSource& bits);

/// Uniform on (0, 1), rounded to a double with all 53 bits at every magnitude:
/// the relative error is at most 2^-53 however small the value.
double uniform_open(BitSource& bits);

}  // namespace dpreg
