#include "dpreg/noise/largest.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "dpreg/error.hpp"
#include "dpreg/noise/uniform.hpp"

namespace dpreg {

double noise_from_log_hazard(double log_q, NoiseLaw law) {
    if (law == NoiseLaw::kGumbel) return -log_q;
    // -log(1 - e^-q), each branch where it loses no digits.
    if (log_q < -37.0) return -log_q;
    const double q = std::exp(log_q);
    if (q < std::log(2.0)) return -std::log(-std::expm1(-q));
    return -std::log1p(-std::exp(-q));
}

double largest_of(double log_count, NoiseLaw law, BitSource& bits) {
    require(log_count >= 0.0 && std::isfinite(log_count), "log_count must be finite, at least 0");
    return noise_from_log_hazard(std::log(standard_exponential(bits)) - log_count, law);
}

std::vector<std::uint64_t> random_subset(std::uint64_t size, std::size_t count, BitSource& bits) {
    require(count <= size, "a subset cannot be larger than its set");
    // Floyd's method (Bentley and Floyd, 1987): one uniform integer an element.
    std::unordered_set<std::uint64_t> chosen;
    chosen.reserve(count);
    for (std::uint64_t last = size - count; last < size; ++last) {
        const auto element = uniform_below(last + 1, bits);
        if (!chosen.insert(element).second) chosen.insert(last);
    }
    std::vector<std::uint64_t> result(chosen.begin(), chosen.end());
    std::sort(result.begin(), result.end());
    return result;
}

}  // namespace dpreg
