#include "dpreg/mechanisms/dpsgd.hpp"

#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {
namespace {

const double kRateSteps = std::ldexp(1.0, 32);

/// Decides for each row whether it is in a sample, with probability threshold / 2^32: whether a
/// fresh 32-bit integer is below the threshold.  If its first byte decides, the rest is not drawn.
class PoissonSample {
public:
    PoissonSample(std::uint64_t threshold, BitSource& bits)
        : first_(threshold >> 24), rest_(threshold & 0xffffffU), bits_(bits) {}

    /// The places of those in the sample, of the n rows that come next.
    const std::vector<std::size_t>& among(std::size_t n) {
        chosen_.clear();
        for (std::size_t row = 0; row < n; ++row) {
            if (bytes_ == 0) {
                word_ = bits_.next();
                bytes_ = 8;
            }
            const std::uint64_t byte = word_ & 0xffU;
            if (byte < first_ || (byte == first_ && (bits_.next() & 0xffffffU) < rest_)) {
                chosen_.push_back(row);
            }
            word_ >>= 8;
            --bytes_;
        }
        return chosen_;
    }

private:
    std::uint64_t first_, rest_;
    BitSource& bits_;
    std::uint64_t word_ = 0;  // the bytes of rows to come
    int bytes_ = 0;           // how many of them
    std::vector<std::size_t> chosen_;
};

}  // namespace

double poisson_rate(double rate) {
    require(rate > 0.0 && rate <= 1.0, "rate must be in (0, 1]");
    return std::floor(rate * kRateSteps) / kRateSteps;
}

std::vector<double> dpsgd(const QuantisedRows& like, const EachBlock& blocks,
                          const SgdOptions& options, BitSource& bits) {
    require(options.steps >= 1, "steps must be at least 1");
    require(options.expected > 0.0 && options.clip > 0.0 && options.learning_rate > 0.0,
            "expected, clip and learning_rate must be positive");
    const auto threshold = static_cast<std::uint64_t>(poisson_rate(options.rate) * kRateSteps);
    const double unit = options.clip * like.limit() / (static_cast<double>(kRowSteps) * kRowSteps);
    const double step = options.learning_rate * unit / options.expected;

    const std::size_t width = like.width();
    std::vector<double> theta(width, 0.0);
    std::vector<double> mean(width, 0.0);
    const std::size_t averaged = (options.steps + 1) / 2;
    for (std::size_t t = 0; t < options.steps; ++t) {
        std::vector<std::int64_t> gradient(width, 0);
        PoissonSample sample(threshold, bits);
        blocks([&](const QuantisedRows& rows) {
            const auto& chosen = sample.among(rows.rows());
            const auto added = rows.round(theta, options.clip, &chosen).gradient;
            for (std::size_t j = 0; j < width; ++j) gradient[j] += added[j];
        });
        const auto noise = discrete_gaussian(options.sigma, width, bits);
        for (std::size_t j = 0; j < width; ++j) {
            theta[j] += step * static_cast<double>(gradient[j] + noise[j]);
            if (t + averaged >= options.steps) mean[j] += theta[j] / static_cast<double>(averaged);
        }
    }
    return mean;
}

}  // namespace dpreg
