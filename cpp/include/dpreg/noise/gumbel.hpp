#pragma once

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// A standard Gumbel variable, -log of a standard exponential one: the maximum
/// of score_i + Gumbel_i falls on i with probability proportional to exp(score_i).
/// Idealised: the logarithms are those of the C library.
double standard_gumbel(BitSource& bits);

}  // namespace dpreg
