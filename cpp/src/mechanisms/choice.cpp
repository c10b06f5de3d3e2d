#include "dpreg/mechanisms/choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();
// Weights of choices among a few, and of envelopes of groups, are integers of so many bits.
constexpr int kWeightBits = 96;
constexpr int kEnvelopeBits = 64;
// No weight is below e^-32 of the largest: integer weights of 96 bits then have a small
// relative error all over, and the choice needs no delta.
constexpr double kLargestGap = 32.0;
// Largest privacy cost of the rounding of weights, in nats (bounded_choice.md, section 2).
constexpr double kRounding = 0x1p-40;

/// ceil(2^kWeightBits * exp(log_weight - largest)), but 0 for a log-weight of -infinity, or NaN.
///
/// Rounding up and not down, so that what is possible on one data set stays possible on its
/// neighbour.
uint128 integer_weight(double log_weight, double largest) {
    if (std::isnan(log_weight)) log_weight = kNever;
    // The difference of two infinities is NaN, but equal weights are equal.
    if (log_weight == largest) return uint128{1} << kWeightBits;
    if (!(log_weight > kNever)) return 0;
    return static_cast<uint128>(std::ceil(std::ldexp(std::exp(log_weight - largest), kWeightBits)));
}

/// An integer above 2^kEnvelopeBits exp(log_bound), or 0 for -infinity.
uint128 envelope(double log_bound) {
    if (!(log_bound > kNever)) return 0;
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
    double largest = kNever;
    for (const auto& group : groups) {
        if (group.count > 0) largest = std::fmax(largest, group.log_bound);
    }
    require(largest >= 0.0, "some candidate must be possible");
    require(largest <= kLargestLogBound, "the bound of a group is too large");
}

}  // namespace

std::size_t choose_index(const std::vector<double>& log_weights, BitSource& bits) {
    require(!log_weights.empty() && log_weights.size() <= (std::size_t{1} << 30),
            "there must be between 1 and 2^30 weights");
    // NaN is never the largest, whatever its position.
    const double largest = std::accumulate(log_weights.begin(), log_weights.end(), kNever,
                                           [](double a, double b) { return std::fmax(a, b); });
    uint128 total = 0;
    for (const double w : log_weights) total += integer_weight(w, largest);
    uint128 left = uniform_below(total, bits);
    for (std::size_t i = 0; i < log_weights.size(); ++i) {
        const uint128 weight = integer_weight(log_weights[i], largest);
        if (left < weight) return i;
        left -= weight;
    }
    return log_weights.size() - 1;  // not reached: the weights add up to `total`
}

void check_range(double range) {
    require(range >= kLeastRange && range <= kLargestRange,
            "the range of the scores must be in [2^-500, 2^500]");
}

std::size_t choose_by_gap(std::vector<double> gaps, double range, double epsilon, BitSource& bits) {
    check_range(range);
    require(epsilon >= 0x1p-38 && epsilon <= 0x1p20,
            "epsilon of one choice must be in [2^-38, 2^20]");
    const double rate = (epsilon - kRounding) / range;
    bool possible = false;
    for (auto& gap : gaps) {
        const bool excluded = gap == -kNever;
        possible = possible || !excluded;
        // A log-weight; the product may overflow, and a gap that is NaN counts as none.
        gap = excluded ? -gap : -std::min(kLargestGap, std::max(0.0, gap * rate));
    }
    require(possible, "at least one candidate must be allowed");
    return choose_index(gaps, bits);
}

std::vector<std::size_t> peel(std::vector<double> scores, std::size_t k, double range,
                              double epsilon, BitSource& bits) {
    const auto excluded = std::count(scores.begin(), scores.end(), kNever);
    require(k >= 1 && k <= scores.size() - static_cast<std::size_t>(excluded),
            "k must be between 1 and the number of candidates");
    for (auto& score : scores) {
        if (std::isnan(score)) score = -kLargest;
        score = std::min(score, kLargest);
    }
    std::vector<std::size_t> chosen;
    std::vector<double> gaps(scores.size());
    while (chosen.size() < k) {
        const double best = *std::max_element(scores.begin(), scores.end());
        for (std::size_t j = 0; j < scores.size(); ++j) {
            // A gap that overflows is the largest there is; infinite gaps are for the excluded.
            gaps[j] = scores[j] == kNever ? -kNever : std::min(kLargest, best - scores[j]);
        }
        chosen.push_back(choose_by_gap(gaps, range, epsilon / static_cast<double>(k), bits));
        scores[chosen.back()] = kNever;
    }
    return chosen;
}

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
