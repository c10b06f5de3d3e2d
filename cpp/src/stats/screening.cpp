#include "dpreg/stats/screening.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace dpreg {

std::vector<double> screening_scores(const L1Gradient& gradient,
                                     const std::vector<std::uint8_t>& active) {
    const std::size_t d = gradient.cols();
    const auto n = static_cast<double>(gradient.rows());
    std::vector<double> scores(d, -std::numeric_limits<double>::infinity());
    const auto size_of = [&](std::size_t j) {
        return std::fabs(static_cast<double>(gradient.numerator(j)) / gradient.denominator());
    };
    double largest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] != 0) largest = std::fmax(largest, size_of(j));
    }
    const double gap = gradient.wolfe_gap(active);
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] == 0) continue;
        const double lead = largest - size_of(j);
        scores[j] = n == 0.0 ? 0.0 : lead * lead / (4.0 * n) - gap;
    }
    return scores;
}

}  // namespace dpreg
