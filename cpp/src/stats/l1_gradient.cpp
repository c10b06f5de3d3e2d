#include "dpreg/stats/l1_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {

L1Gradient::L1Gradient(UnitDesign& design, const std::vector<std::int32_t>& y, double l1,
                       std::vector<std::int64_t> start)
    : design_(design), l1_(l1), v_(std::move(start)), sums_(design.cols(), 0) {
    require(l1 > 0.0 && std::isfinite(l1), "l1 must be finite and greater than 0");
    require(y.size() == design.rows(), "X and y must have the same number of rows");
    require(v_.size() == design.cols(), "the start must have one entry a column");
    std::int64_t length = 0;
    for (const auto v : v_) {
        require(v >= -kStartWeight && v <= kStartWeight, "the start must lie in the l1 ball");
        length = std::min(length + std::abs(v), kStartWeight + 1);
    }
    require(length <= kStartWeight, "the start must lie in the l1 ball");
    crossprod_ = design.crossprod(y);
    if (length > 0) design.add_gram_product(v_, sums_);
}

void L1Gradient::step(std::size_t j, bool positive) {
    require(steps_ < static_cast<std::int64_t>(kMaxSteps), "too many steps");
    ++steps_;
    const std::int64_t weight = (steps_ + 1) * kStartWeight;
    const std::int64_t change = positive ? weight : -weight;
    total_ += weight;
    v_[j] += change;
    design_.add_gram_column(j, change, sums_);
}

void L1Gradient::drop(std::size_t j) {
    design_.add_gram_column(j, -v_[j], sums_);
    v_[j] = 0;
}

double L1Gradient::denominator() const {
    return std::ldexp(static_cast<double>(total_), kCellBits + kResponseBits);
}

double L1Gradient::scale() const { return l1_ / denominator(); }

std::vector<double> L1Gradient::values() const {
    std::vector<double> g(cols());
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = static_cast<double>(numerator(j)) * scale();
    return g;
}

std::vector<double> L1Gradient::weights() const {
    std::vector<double> w(cols());
    for (std::size_t j = 0; j < w.size(); ++j) {
        w[j] = l1_ * (static_cast<double>(v_[j]) / static_cast<double>(total_));
    }
    return w;
}

double L1Gradient::wolfe_gap(const std::vector<std::uint8_t>& active) const {
    // Compensated, so that the error does not grow with the number of columns.
    double sum = 0.0;
    double lost = 0.0;
    double largest = 0.0;
    for (std::size_t j = 0; j < cols(); ++j) {
        if (active[j] == 0) continue;
        const double g = static_cast<double>(numerator(j)) / denominator();
        largest = std::fmax(largest, std::fabs(g));
        const double term = static_cast<double>(v_[j]) / static_cast<double>(total_) * g - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    return std::fmax(0.0, sum + largest);
}

}  // namespace dpreg
