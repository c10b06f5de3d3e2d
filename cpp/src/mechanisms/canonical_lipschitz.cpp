#include "dpreg/mechanisms/canonical_lipschitz.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <queue>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/choice.hpp"
#include "dpreg/noise/samplers.hpp"
#include "dpreg/stats/rank.hpp"

namespace dpreg {
namespace {

/// log(e^a + e^b)
double log_sum(double a, double b) {
    const double largest = std::max(a, b);
    return largest + std::log1p(std::exp(std::min(a, b) - largest));
}

double log_exponential(BitSource& bits) { return std::log(standard_exponential(bits)); }

/// Numbers of subsets by their head: those that hold the h best candidates, not the next one,
/// and whose worst member is the t-th best.  There are C(t - h - 2, k - h - 1) of them, and
/// count(t) = C(t - h - 1, k - h) whose worst member is one of the k + 1-st, ..., t-th.
class Head {
public:
    Head(std::size_t h, std::size_t k, std::size_t d) : h_(h), k_(k), d_(d) {
        for (std::size_t i = 0; i < k - h; ++i) {
            log_total_ += std::log(static_cast<double>(d - h - 1 - i) / static_cast<double>(i + 1));
        }
    }

    /// log(count(s) / count(t)) for k <= s <= t, k < t.
    double log_ratio(std::size_t s, std::size_t t) const {
        if (s <= k_) return -std::numeric_limits<double>::infinity();
        double sum = 0.0;
        for (std::size_t i = 0; i < k_ - h_; ++i) {
            const auto of = static_cast<double>(t - h_ - 1 - i);
            const auto part = static_cast<double>(s - h_ - 1 - i);
            // Near 1 the logarithm of a quotient would lose its digits, near 0 that of 1 - x.
            sum += 2.0 * part < of ? std::log(part / of)
                                   : std::log1p(-static_cast<double>(t - s) / of);
        }
        return sum;
    }

    /// The share of the subsets with worst member in (first, last] that has it in (middle, last].
    double share_above(std::size_t first, std::size_t middle, std::size_t last) const {
        return std::expm1(log_ratio(middle, last)) / std::expm1(log_ratio(first, last));
    }

    double share_below(std::size_t first, std::size_t middle, std::size_t last) const {
        return std::exp(log_ratio(middle, last)) * std::expm1(log_ratio(first, middle)) /
               std::expm1(log_ratio(first, last));
    }

    /// log of the number of subsets with worst member in (first, last].
    double log_count(std::size_t first, std::size_t last) const {
        return log_total_ + log_ratio(last, d_) + std::log(-std::expm1(log_ratio(first, last)));
    }

private:
    std::size_t h_;
    std::size_t k_;
    std::size_t d_;
    double log_total_ = 0.0;
};

/// The subsets with head `h` and worst member in (first, last], or the k best if last = k; the
/// smallest hazard q among them, and the largest value that one of them can have.
struct Block {
    double bound;
    double log_q;
    std::size_t h;
    std::size_t first;
    std::size_t last;

    bool operator<(const Block& other) const { return bound < other.bound; }
};

/// One draw; see canonical_lipschitz.md, whose names these are.
class Draw {
public:
    Draw(const std::vector<double>& scores, const CanonicalLipschitz& options, BitSource& bits)
        : options_(options),
          bits_(bits),
          k_(options.k),
          d_(scores.size()),
          order_(descending_order(scores)),
          rate_(options.epsilon / options.range) {
        const double reference = score(scores, k_);
        gaps_.reserve(d_);
        for (std::size_t t = 1; t <= d_; ++t) {
            gaps_.push_back(std::fabs(score(scores, t) - reference));
        }
    }

    std::vector<std::size_t> subset() {
        std::priority_queue<Block> blocks;
        // The k best: one subset, of utility 0.
        push(blocks, k_ - 1, k_ - 1, k_, log_exponential(bits_));
        for (std::size_t h = 0; h < k_ && k_ < d_; ++h) {
            heads_.emplace_back(h, k_, d_);
            push(blocks, h, k_, d_, log_exponential(bits_) - heads_[h].log_count(k_, d_));
        }
        for (;;) {
            const Block block = blocks.top();
            blocks.pop();
            // All utilities in the block are equal: its bound is the value of a subset.
            if (utility(block.h, block.first + 1) == utility(block.h, block.last)) {
                return members(block);
            }
            const auto [middle, above] = split(block);
            const auto& head = heads_[block.h];
            const double fresh =
                log_exponential(bits_) -
                (above ? head.log_count(block.first, middle) : head.log_count(middle, block.last));
            const double rest = log_sum(block.log_q, fresh);
            push(blocks, block.h, block.first, middle, above ? rest : block.log_q);
            push(blocks, block.h, middle, block.last, above ? block.log_q : rest);
        }
    }

private:
    static std::vector<std::uint32_t> descending_order(const std::vector<double>& scores) {
        // NaN has no place in the order of `ascending_order`: here it is the lowest score.
        std::vector<double> negative(scores.size());
        for (std::size_t j = 0; j < scores.size(); ++j) {
            negative[j] =
                std::isnan(scores[j]) ? std::numeric_limits<double>::infinity() : -scores[j];
        }
        return ascending_order({negative.data(), negative.size(), 1});
    }

    /// The t-th largest score.
    double score(const std::vector<double>& scores, std::size_t t) const {
        const double largest = std::numeric_limits<double>::max();
        const double value = scores[order_[t - 1]];
        return std::isnan(value) ? -largest : std::clamp(value, -largest, largest);
    }

    /// |x_[t] - x_[k]|
    double gap(std::size_t t) const { return gaps_[t - 1]; }

    double utility(std::size_t h, std::size_t t) const {
        // A weight of 0 must not meet an infinite gap.
        const double out = options_.gamma == 0.0 ? 0.0 : options_.gamma * gap(t);
        return -rate_ * ((1.0 - options_.gamma) * gap(h + 1) + out);
    }

    void push(std::priority_queue<Block>& blocks, std::size_t h, std::size_t first,
              std::size_t last, double log_q) const {
        const double noise = noise_from_log_hazard(log_q, options_.noise);
        blocks.push({utility(h, first + 1) + noise, log_q, h, first, last});
    }

    /// Where to split, and whether the subset with the smallest hazard is above.
    std::pair<std::size_t, bool> split(const Block& block) const {
        const std::size_t middle = block.first + (block.last - block.first) / 2;
        const auto& head = heads_[block.h];
        const double above = head.share_above(block.first, middle, block.last);
        // The smaller share decides: its relative error is small however small it is.
        if (above < 0.5) return {middle, uniform_open(bits_) < above};
        const double below = head.share_below(block.first, middle, block.last);
        return {middle, !(uniform_open(bits_) < below)};
    }

    /// A uniformly random subset of the block, given as indices.
    std::vector<std::size_t> members(Block block) const {
        std::vector<std::size_t> chosen;
        const auto take = [&](std::size_t t) { chosen.push_back(order_[t - 1]); };
        while (block.last - block.first > 1) {
            const auto [middle, above] = split(block);
            (above ? block.first : block.last) = middle;
        }
        for (std::size_t t = 1; t <= block.h; ++t) take(t);
        if (block.last > k_) {
            // The body: k - h - 1 of those between the best one outside and the worst inside.
            const auto body = random_subset(block.last - block.h - 2, k_ - block.h - 1, bits_);
            for (const auto place : body) take(block.h + 2 + static_cast<std::size_t>(place));
        }
        take(block.last);
        std::sort(chosen.begin(), chosen.end());
        return chosen;
    }

    const CanonicalLipschitz& options_;
    BitSource& bits_;
    std::size_t k_;
    std::size_t d_;
    std::vector<std::uint32_t> order_;
    std::vector<double> gaps_;
    double rate_;
    std::vector<Head> heads_;
};

}  // namespace

std::vector<std::size_t> canonical_lipschitz(const std::vector<double>& scores,
                                             const CanonicalLipschitz& options, BitSource& bits) {
    require(options.k >= 1 && options.k <= scores.size(),
            "k must be between 1 and the number of scores");
    check_range(options.range);
    require(options.epsilon >= std::ldexp(1.0, -40) && options.epsilon <= std::ldexp(1.0, 20),
            "epsilon must be in [2^-40, 2^20]");
    require(options.gamma >= 0.0 && options.gamma < 1.0, "gamma must be in [0, 1)");
    return Draw(scores, options, bits).subset();
}

}  // namespace dpreg
