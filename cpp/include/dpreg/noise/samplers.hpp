#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

/// Noise distributions of which the maximum is drawn: F(z) = 1 - e^-z for z >= 0, or
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

/// Which units belong to which model: model g has
/// members[offsets[g]], ..., members[offsets[g + 1] - 1], in uniformly random order.
struct Assignment {
    std::vector<std::size_t> members;
    std::vector<std::size_t> offsets;  ///< size models + 1
};

/// Places units 0, ..., n - 1 into models * batch slots by a uniformly random
/// injection: slots stay empty if there are too few units, units stay unused if
/// there are too many.  Model g owns slots g * batch, ..., (g + 1) * batch - 1.
///
/// Domain     models >= 1, batch >= 1; any n.
/// Stability  the assignments of n and of n + 1 units can be coupled so that at
///            most one slot, hence one model, differs (assignment.md, Lemma 1).
/// Cost       O(n + models * batch) time and memory.
Assignment assign_to_slots(std::size_t n, std::size_t models, std::size_t batch, BitSource& bits);

/// Sends each unit to a uniformly random model, independently of all others.
///
/// Domain     models >= 1; any n.
/// Stability  the assignments of n and of n + 1 units can be coupled so that at
///            most one model differs (assignment.md, Lemma 2).
/// Cost       O(n + models) time and memory.
Assignment assign_independently(std::size_t n, std::size_t models, BitSource& bits);

}  // namespace dpreg
