#pragma once

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// A standard exponential variable, with full relative precision in both tails.
/// Idealised: the logarithm is the one of the C library.
double standard_exponential(BitSource& bits);

}  // namespace dpreg
