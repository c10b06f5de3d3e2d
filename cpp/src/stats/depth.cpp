#include "dpreg/stats/depth.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

/// log(inner / outer) for two intervals, the inner one inside the outer.
double log_length_ratio(const GridInterval& outer, const GridInterval& inner) {
    const auto whole = static_cast<double>(outer.size());
    // The difference is exact in integers; its ratio keeps the digits that the
    // logarithm of a quotient near 1 would lose.
    const auto removed = static_cast<double>(outer.size() - inner.size());
    if (2.0 * removed <= whole) return std::log1p(-removed / whole);
    return std::log(static_cast<double>(inner.size()) / whole);
}

}  // namespace

int128 to_grid(double value, int exponent) {
    if (std::isnan(value)) return 0;
    const double scaled = std::nearbyint(std::ldexp(value, -exponent));
    const double limit = std::ldexp(1.0, 125);
    if (scaled >= limit) return kGridLimit;
    if (scaled <= -limit) return -kGridLimit;
    return static_cast<int128>(scaled);
}

double from_grid(int128 point, int exponent) {
    return std::ldexp(static_cast<double>(point), exponent);
}

DepthRegions::DepthRegions(const std::vector<double>& points, std::size_t m, std::size_t p,
                           int grid_exponent)
    : m_(m),
      p_(p),
      grid_exponent_(grid_exponent),
      sorted_(m * p),
      log_volume_(max_depth() + 1, 0.0) {
    require(m >= 1 && p >= 1 && points.size() == m * p, "points must be a non-empty m x p matrix");
    for (std::size_t j = 0; j < p; ++j) {
        const auto column = sorted_.begin() + static_cast<std::ptrdiff_t>(j * m);
        for (std::size_t i = 0; i < m; ++i)
            column[static_cast<std::ptrdiff_t>(i)] = to_grid(points[i * p + j], grid_exponent);
        std::sort(column, column + static_cast<std::ptrdiff_t>(m));
    }

    // Neumaier's sum: all terms have one sign, so the relative error is that of
    // the terms themselves, whatever their number.
    double sum = 0.0;
    double carry = 0.0;
    for (std::size_t depth = 1; depth < max_depth(); ++depth) {
        for (std::size_t j = 0; j < p; ++j) {
            const double term = log_length_ratio(side(depth, j), side(depth + 1, j));
            const double next = sum + term;
            carry += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term : (term - next) + sum;
            sum = next;
        }
        log_volume_[depth + 1] = sum + carry;
    }
}

GridInterval DepthRegions::side(std::size_t depth, std::size_t j) const {
    const int128* column = sorted_.data() + j * m_;
    return {column[depth - 1], column[m_ - depth]};
}

double DepthRegions::rounding_error(std::size_t m, std::size_t p, double epsilon) {
    const double unit = std::numeric_limits<double>::epsilon() / 2.0;
    const std::size_t middle = (m + 1) / 2;
    const auto deepest = static_cast<double>(middle);
    const double largest_logarithm = 89.0 * static_cast<double>(p) + epsilon * deepest + 2.0;
    return 8.0 * unit * (deepest + 16.0) * largest_logarithm;
}

}  // namespace dpreg
