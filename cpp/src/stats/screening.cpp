#include "dpreg/stats/screening.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

namespace dpreg {

std::vector<double> screening_scores(L1Gradient& gradient,
                                     const std::vector<std::uint8_t>& active) {
    const std::size_t d = gradient.cols();
    const auto n = static_cast<double>(gradient.rows());
    const auto values = gradient.scaled_values();
    double largest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] != 0) largest = std::fmax(largest, std::fabs(values[j]));
    }
    const double gap = gradient.wolfe_gap(values, active);
    std::vector<double> scores(d, -std::numeric_limits<double>::infinity());
    for (std::size_t j = 0; j < d; ++j) {
        if (active[j] == 0) continue;
        const double lead = largest - std::fabs(values[j]);
        scores[j] = n == 0.0 ? 0.0 : lead * lead / (4.0 * n) - gap;
    }
    return scores;
}

}  // namespace dpreg
