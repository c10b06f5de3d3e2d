#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// True with probability exactly exp(-numerator / denominator).
///
/// Domain   denominator in [1, 2^100].
/// Source   Canonne, Kamath and Steinke (2020), "The Discrete Gaussian for
///          Differential Privacy", Algorithm 1.
bool bernoulli_exp(uint128 numerator, uint128 denominator, BitSource& bits);

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

/// Largest scale that the sampler takes.
inline constexpr std::uint64_t kLargestGaussianScale = std::uint64_t{1} << 44;

/// `size` independent integers with Pr[X = x] proportional to exp(-x^2 / (2 sigma^2)), exactly.
///
/// Domain   1 <= sigma <= kLargestGaussianScale, an integer: a scale is rounded up to one,
///          in units so fine that this costs nothing.
/// Privacy  adding it to an integer vector that one unit moves by at most s in l2 norm is
///          (1/2)(s/sigma)^2-zCDP and, for sigma >= 10, (s/sigma)-GDP up to factors of
///          probability that multiply to e^(67 size / sigma^2) (discrete_gaussian.md).
/// Source   Canonne, Kamath and Steinke (2020), Algorithm 3.
std::vector<std::int64_t> discrete_gaussian(std::uint64_t sigma, std::size_t size, BitSource& bits);

}  // namespace dpreg
