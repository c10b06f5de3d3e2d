#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "dpreg/noise/bits.hpp"
#include "dpreg/stats/quantised_rows.hpp"

namespace dpreg {

/// Noisy gradient descent on Poisson samples.  All public.
struct SgdOptions {
    std::size_t steps;     ///< at least 1
    double rate;           ///< chance of a row to be in a sample, in (0, 1]
    double expected;       ///< what sums over a sample are divided by; positive
    double clip;           ///< of residuals
    double learning_rate;  ///< of the mean gradient
    std::uint64_t sigma;   ///< scale of the noise on each entry, in steps of the gradient
};

/// The rate in use: the largest multiple of 2^-32 that is at most `rate`.
double poisson_rate(double rate);

/// Calls its argument with the rows, some at a time: the same blocks in the same order each time.
using EachBlock = std::function<void(const std::function<void(const QuantisedRows&)>&)>;

/// Squared loss by stochastic gradient descent: in each step every row is in the sample
/// with probability poisson_rate(rate), independently, and
///
///   theta <- theta + learning_rate (noisy sum of clipped gradients) / expected.
///
/// `like` has width and limit of all blocks, and may have no rows.  How rows are divided into
/// blocks cannot be seen in the result.
///
/// Returns  the mean of the last half of the iterates, of size like.width().
/// Privacy  each step is a Poisson-sampled Gaussian release with noise multiplier
///          sigma / gradient_sensitivity(width) (discrete noise: see discrete_gaussian.md),
///          under add/remove of one row; `steps` of them compose adaptively.
///          Proof: dpsgd.md.
/// Throws   InvalidArgument on a domain violation; EntropyError; what `blocks` throws.
std::vector<double> dpsgd(const QuantisedRows& like, const EachBlock& blocks,
                          const SgdOptions& options, BitSource& bits);

}  // namespace dpreg
