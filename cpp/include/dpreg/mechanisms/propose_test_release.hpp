#pragma once

#include <cstdint>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// The least integer T >= -1 with Pr[-1 + X > T] <= delta, X = discrete_laplace(epsilon), but
/// for rounding, which is to the safe side: data at distance -1 passes the test below with
/// probability at most delta.
///
/// Domain   epsilon as for fraction_at_most; 0 < delta < 1.
std::int64_t release_threshold(double epsilon, double delta);

/// The test of propose-test-release: is `distance` + X above release_threshold?
///
/// Domain   epsilon as for fraction_at_most; 0 < delta < 1.
/// Privacy  epsilon-DP when one unit moves `distance` by at most 1.  Passes with
///          probability at most delta when `distance` is -1.
///          Proof: propose_test_release.md.
bool passes_release_test(std::int64_t distance, double epsilon, double delta, BitSource& bits);

}  // namespace dpreg
