#include "dpreg/mechanisms/peel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"
#include "dpreg/mechanisms/bounded_choice.hpp"

namespace dpreg {
namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();
constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace

std::vector<std::size_t> peel(std::vector<double> scores, std::size_t k, double range,
                              double epsilon, BitSource& bits) {
    const auto excluded = std::count(scores.begin(), scores.end(), kExcluded);
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
            gaps[j] = scores[j] == kExcluded ? -kExcluded : std::min(kLargest, best - scores[j]);
        }
        chosen.push_back(choose_by_gap(gaps, range, epsilon / static_cast<double>(k), bits));
        scores[chosen.back()] = kExcluded;
    }
    return chosen;
}

}  // namespace dpreg
