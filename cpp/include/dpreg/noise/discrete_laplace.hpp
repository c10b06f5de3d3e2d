#pragma once

#include <cstdint>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// A positive number as an exact fraction, so that samplers can work on integers.
struct Fraction {
    std::uint64_t numerator;
    std::uint64_t denominator;
};

/// Throws InvalidArgument unless 2^-40 <= x <= 2^30.
void check_noise_parameter(double x);

/// The largest fraction of 53 bits that is at most `x`, exact for most doubles.
/// Domain: that of check_noise_parameter.
Fraction fraction_at_most(double x);

/// An integer X with Pr[X = x] proportional to exp(-epsilon |x|), exactly.
///
/// Privacy  adding it to a count that one unit moves by at most 1 is epsilon-DP.
/// Source   Canonne, Kamath and Steinke (2020), Algorithm 2.
std::int64_t discrete_laplace(Fraction epsilon, BitSource& bits);

/// Pr[X >= x] for the law above, x >= 1.
double discrete_laplace_tail(std::int64_t x, double epsilon);

}  // namespace dpreg
