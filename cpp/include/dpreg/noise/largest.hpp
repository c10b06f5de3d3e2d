#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// The laws of noise of which a largest value is wanted: F(z) = 1 - e^-z for z >= 0, or
/// F(z) = exp(-e^-z).  In both, log(1 - F) is 1-Lipschitz.
enum class NoiseLaw : std::uint8_t { kExponential, kGumbel };

/// The noise z with F(z) = e^-q, from log q.  If q is exponential with rate m, z has the law of
/// the largest of m independent draws.
///
/// Domain   any number, or an infinity.
/// Error    relative error of q, not of z, at most 2e-13 for every q: z is right to the last
///          places whether m is 1 or 10^300.
double noise_from_log_hazard(double log_q, NoiseLaw law);

/// The largest of e^(log_count) draws of noise.  Domain: log_count finite and at least 0.
double largest_of(double log_count, NoiseLaw law, BitSource& bits);

/// `count` distinct elements of {0, ..., size - 1}, every subset equally likely; ascending.
/// Domain   count <= size.  Cost  O(count log count), whatever the size.
std::vector<std::uint64_t> random_subset(std::uint64_t size, std::size_t count, BitSource& bits);

}  // namespace dpreg
