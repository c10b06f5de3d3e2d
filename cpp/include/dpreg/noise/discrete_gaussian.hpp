#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

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
