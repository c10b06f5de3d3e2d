#include "dpreg/mechanisms/grouped_exponential.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/uniform.hpp"

namespace dpreg {
namespace {

constexpr int kEnvelopeBits = 64;

/// An integer above 2^kEnvelopeBits exp(log_bound - reference), or 0 for -infinity.
uint128 envelope(double log_bound, double reference) {
    if (!(log_bound > -std::numeric_limits<double>::infinity())) return 0;
    // More than the relative error of exp; the one added covers what underflows.
    constexpr double kSlack = 1.0 + 0x1p-40;
    const double weight = std::ldexp(std::exp(log_bound - reference) * kSlack, kEnvelopeBits);
    return static_cast<uint128>(std::ceil(weight)) + 1;
}

}  // namespace

Candidate choose_grouped(const std::vector<CandidateGroup>& groups,
                         const std::function<double(std::size_t, std::uint64_t)>& log_weight,
                         BitSource& bits) {
    double reference = -std::numeric_limits<double>::infinity();
    for (const auto& group : groups) {
        if (group.count > 0) reference = std::fmax(reference, group.log_bound);
    }
    require(reference > -std::numeric_limits<double>::infinity() && std::isfinite(reference),
            "some candidate must be possible");

    std::vector<uint128> ends;
    ends.reserve(groups.size());
    uint128 total = 0;
    for (const auto& group : groups) {
        total += envelope(group.log_bound, reference) * group.count;
        ends.push_back(total);
    }
    for (;;) {
        const uint128 drawn = uniform_below(total, bits);
        const auto end = std::upper_bound(ends.begin(), ends.end(), drawn);
        const auto g = static_cast<std::size_t>(end - ends.begin());
        const uint128 each = envelope(groups[g].log_bound, reference);
        if (each == 0) continue;  // not reached: such a group has no stretch of its own
        const auto place =
            static_cast<std::uint64_t>((drawn - (g == 0 ? uint128{0} : ends[g - 1])) / each);
        const double weight = std::ldexp(std::exp(log_weight(g, place) - reference), kEnvelopeBits);
        if (uniform_open(bits) < weight / static_cast<double>(each)) return {g, place};
    }
}

std::size_t choose_among(const std::vector<double>& log_weights, BitSource& bits) {
    std::vector<CandidateGroup> groups;
    groups.reserve(log_weights.size() / kGroupSize + 1);
    for (std::size_t first = 0; first < log_weights.size(); first += kGroupSize) {
        const std::size_t size = std::min(kGroupSize, log_weights.size() - first);
        const auto begin = log_weights.begin() + static_cast<std::ptrdiff_t>(first);
        groups.push_back(
            {size, *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(size))});
    }
    const auto chosen = choose_grouped(
        groups, [&](std::size_t g, std::uint64_t i) { return log_weights[g * kGroupSize + i]; },
        bits);
    return chosen.group * kGroupSize + chosen.place;
}

}  // namespace dpreg
