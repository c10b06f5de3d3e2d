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

/// An integer above 2^kEnvelopeBits exp(log_bound), or 0 for -infinity.
uint128 envelope(double log_bound) {
    if (!(log_bound > -std::numeric_limits<double>::infinity())) return 0;
    // More than the relative error of exp; the one added covers what underflows.
    constexpr double kSlack = 1.0 + 0x1p-40;
    const double weight = std::ldexp(std::exp(log_bound) * kSlack, kEnvelopeBits);
    return static_cast<uint128>(std::ceil(weight)) + 1;
}

/// Groups side by side on a line, each as long as the envelopes of its candidates.
class Stretches {
public:
    explicit Stretches(const std::vector<CandidateGroup>& groups) : ends_(groups.size()) {
        for (const auto& group : groups) {
            counts_.push_back(group.count);
            envelopes_.push_back(envelope(group.log_bound));
        }
        add_up(0);
    }

    uint128 length() const { return ends_.back(); }

    Candidate at(uint128 point) const {
        const auto end = std::upper_bound(ends_.begin(), ends_.end(), point);
        const auto g = static_cast<std::size_t>(end - ends_.begin());
        const uint128 start = g == 0 ? 0 : ends_[g - 1];
        return {g, static_cast<std::uint64_t>((point - start) / envelopes_[g])};
    }

    double envelope_of(std::size_t g) const { return static_cast<double>(envelopes_[g]); }

    void tighten(std::size_t g, double log_bound) {
        const uint128 tightened = envelope(log_bound);
        if (tightened == envelopes_[g]) return;
        envelopes_[g] = tightened;
        add_up(g);
    }

private:
    void add_up(std::size_t first) {
        uint128 end = first == 0 ? 0 : ends_[first - 1];
        for (std::size_t g = first; g < ends_.size(); ++g) {
            end += envelopes_[g] * counts_[g];
            ends_[g] = end;
        }
    }

    std::vector<std::uint64_t> counts_;
    std::vector<uint128> envelopes_;
    std::vector<uint128> ends_;
};

void check_bounds(const std::vector<CandidateGroup>& groups) {
    double largest = -std::numeric_limits<double>::infinity();
    for (const auto& group : groups) {
        if (group.count > 0) largest = std::fmax(largest, group.log_bound);
    }
    require(largest >= 0.0, "some candidate must be possible");
    require(largest <= kLargestLogBound, "the bound of a group is too large");
}

}  // namespace

Candidate choose_grouped(const std::vector<CandidateGroup>& groups,
                         const std::function<double(std::size_t, std::uint64_t)>& log_weight,
                         const std::function<double(std::size_t)>& tighten, BitSource& bits) {
    check_bounds(groups);
    Stretches stretches(groups);
    for (;;) {
        const Candidate proposed = stretches.at(uniform_below(stretches.length(), bits));
        const double weight =
            std::ldexp(std::exp(log_weight(proposed.group, proposed.place)), kEnvelopeBits);
        const double envelope = stretches.envelope_of(proposed.group);
        if (uniform_open(bits) < weight / envelope) return proposed;
        stretches.tighten(proposed.group, tighten(proposed.group));
    }
}

std::size_t choose_among(const std::vector<double>& log_weights, BitSource& bits) {
    const auto largest = std::max_element(log_weights.begin(), log_weights.end());
    require(largest != log_weights.end() && std::isfinite(*largest),
            "some candidate must be possible");
    const double reference = *largest;
    std::vector<CandidateGroup> groups;
    groups.reserve(log_weights.size() / kGroupSize + 1);
    for (std::size_t first = 0; first < log_weights.size(); first += kGroupSize) {
        const std::size_t size = std::min(kGroupSize, log_weights.size() - first);
        const auto begin = log_weights.begin() + static_cast<std::ptrdiff_t>(first);
        groups.push_back(
            {size,
             *std::max_element(begin, begin + static_cast<std::ptrdiff_t>(size)) - reference});
    }
    const auto chosen = choose_grouped(
        groups,
        [&](std::size_t g, std::uint64_t i) {
            return log_weights[g * kGroupSize + static_cast<std::size_t>(i)] - reference;
        },
        [&](std::size_t g) { return groups[g].log_bound; }, bits);
    return chosen.group * kGroupSize + static_cast<std::size_t>(chosen.place);
}

}  // namespace dpreg
