#include "dpreg/mechanisms/bounded_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/exponential.hpp"

namespace dpreg {
namespace {

// No weight is below e^-32 of the largest: integer weights of 96 bits then have a small
// relative error all over, and the choice needs no delta.
constexpr double kLargestGap = 32.0;
// What the rounding of the weights may cost, in nats (bounded_choice.md, section 2).
const double kRounding = std::ldexp(1.0, -40);
const double kLeastEpsilon = std::ldexp(1.0, -38);
const double kLargestEpsilon = std::ldexp(1.0, 20);

}  // namespace

void check_range(double range) {
    require(range >= kLeastRange && range <= kLargestRange,
            "the range of the scores must be in [2^-500, 2^500]");
}

std::size_t choose_by_gap(std::vector<double> gaps, double range, double epsilon, BitSource& bits) {
    check_range(range);
    require(epsilon >= kLeastEpsilon && epsilon <= kLargestEpsilon,
            "epsilon of one choice must be in [2^-38, 2^20]");
    const double rate = (epsilon - kRounding) / range;
    bool possible = false;
    for (auto& gap : gaps) {
        const bool excluded = gap == std::numeric_limits<double>::infinity();
        possible = possible || !excluded;
        // A log-weight; the product may overflow, and a gap that is NaN counts as none.
        gap = excluded ? -gap : -std::min(kLargestGap, std::max(0.0, gap * rate));
    }
    require(possible, "at least one candidate must be allowed");
    return choose_index(gaps, bits);
}

}  // namespace dpreg
