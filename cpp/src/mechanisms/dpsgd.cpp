#include "dpreg/mechanisms/dpsgd.hpp"

#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/noise/discrete_gaussian.hpp"

namespace dpreg {
namespace {

const double kRateSteps = std::ldexp(1.0, 32);

/// Each of n rows with probability threshold / 2^32, into `sample`: whether a fresh 32-bit integer
/// is below the threshold.  Its first byte mostly says so; only then is the rest not drawn.
void poisson_sample(std::size_t n, std::uint64_t threshold, BitSource& bits,
                    std::vector<std::size_t>& sample) {
    const std::uint64_t first = threshold >> 24, rest = threshold & 0xffffffU;
    sample.clear();
    for (std::size_t i = 0; i < n; i += 8) {
        std::uint64_t word = bits.next();
        const std::size_t end = std::min(i + 8, n);
        for (std::size_t row = i; row < end; ++row, word >>= 8) {
            const std::uint64_t byte = word & 0xffU;
            if (byte < first || (byte == first && (bits.next() & 0xffffffU) < rest)) {
                sample.push_back(row);
            }
        }
    }
}

}  // namespace

double poisson_rate(double rate) {
    require(rate > 0.0 && rate <= 1.0, "rate must be in (0, 1]");
    return std::floor(rate * kRateSteps) / kRateSteps;
}

std::vector<double> dpsgd(const QuantisedRows& rows, const SgdOptions& options, BitSource& bits) {
    require(options.steps >= 1, "steps must be at least 1");
    require(options.expected > 0.0 && options.clip > 0.0 && options.learning_rate > 0.0,
            "expected, clip and learning_rate must be positive");
    const auto threshold = static_cast<std::uint64_t>(poisson_rate(options.rate) * kRateSteps);
    const double unit = options.clip * rows.limit() / (static_cast<double>(kRowSteps) * kRowSteps);
    const double step = options.learning_rate * unit / options.expected;

    std::vector<double> theta(rows.width(), 0.0);
    std::vector<double> mean(rows.width(), 0.0);
    const std::size_t averaged = (options.steps + 1) / 2;
    std::vector<std::size_t> sample;
    for (std::size_t t = 0; t < options.steps; ++t) {
        poisson_sample(rows.rows(), threshold, bits, sample);
        const auto gradient = rows.round(theta, options.clip, sample, 0).gradient;
        const auto noise = discrete_gaussian(options.sigma, theta.size(), bits);
        for (std::size_t j = 0; j < theta.size(); ++j) {
            theta[j] += step * static_cast<double>(gradient[j] + noise[j]);
            if (t + averaged >= options.steps) mean[j] += theta[j] / static_cast<double>(averaged);
        }
    }
    return mean;
}

}  // namespace dpreg
