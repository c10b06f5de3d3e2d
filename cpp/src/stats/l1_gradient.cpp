#include "dpreg/stats/l1_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

/// A row of products is kept when computing it takes this many cells for each of them.
constexpr std::size_t kWorthKeeping = 4;

void check_start(const std::vector<std::int32_t>& start, std::size_t cols) {
    require(start.empty() || start.size() == cols, "the start must have one entry per column");
    std::int64_t length = 0;
    for (const auto v : start) length += std::abs(std::int64_t{v});
    require(length <= kStartWeight, "the start must lie in the l1 ball");
}

/// The largest |w.x_i - y_i| over the ball for each row, on the grid of responses.
std::vector<std::int32_t> reach_of_rows(const UnitDesign& design,
                                        const std::vector<std::int32_t>& y) {
    const auto largest = design.largest_by_row();
    std::vector<std::int32_t> reach(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
        reach[i] = (std::int32_t{largest[i]} << (kResponseBits - kCellBits)) + std::abs(y[i]);
    }
    return reach;
}

}  // namespace

TrackedColumns::TrackedColumns(const UnitDesign& design, ColumnSet columns,
                               std::vector<int128> sums)
    : design_(design),
      products_(std::move(columns)),
      sums_(std::move(sums)),
      room_(design.products_to_keep()) {
    require(sums_.size() == products_.columns.size(), "one sum for each tracked column");
    for (const std::size_t j : this->columns().columns()) products_.cells += design.column(j).size;
}

const TrackedColumns::GramRow& TrackedColumns::gram_row(std::size_t j) {
    const auto found = kept_.find(j);
    if (found != kept_.end()) return found->second;
    row_.slots.clear();
    row_.products.clear();
    const std::size_t cells = design_.add_products(j, products_);
    products_.sums.drain([&](std::uint32_t slot, std::int64_t product) {
        row_.slots.push_back(slot);
        row_.products.push_back(product);
    });
    const std::size_t size = row_.slots.size();
    if (size > room_ || size * kWorthKeeping > cells) return row_;
    room_ -= size;
    row_.slots.shrink_to_fit();
    row_.products.shrink_to_fit();
    return kept_.emplace(j, std::move(row_)).first->second;
}

void TrackedColumns::add(std::size_t j, std::int64_t change) {
    last_ = &gram_row(j);
    for (std::size_t k = 0; k < last_->slots.size(); ++k) {
        sums_[last_->slots[k]] += int128{change} * last_->products[k];
    }
}

L1Gradient::L1Gradient(const UnitDesign& design, std::vector<std::int32_t> y, double l1,
                       std::vector<std::int32_t> start)
    : design_(design),
      y_(std::move(y)),
      l1_(l1),
      start_(std::move(start)),
      fitted_(design.rows(), 0) {
    require(l1 > 0.0 && std::isfinite(l1), "l1 must be finite and greater than 0");
    require(y_.size() == design.rows(), "X and y must have the same number of rows");
    check_start(start_, cols());
    row_reach_ = reach_of_rows(design, y_);
    track({});
    for (std::size_t j = 0; j < start_.size(); ++j) {
        if (start_[j] != 0) add_to_fitted(j, start_[j]);
    }
}

template <class Visit>
void L1Gradient::visit_coordinates(Visit visit) const {
    if (start_.empty()) {
        for (const auto& [j, v] : moved_) visit(j, v);
        return;
    }
    auto next = moved_.begin();
    for (std::size_t j = 0; j < start_.size(); ++j) {
        std::int64_t v = start_[j];
        if (next != moved_.end() && next->first == j) v += (next++)->second;
        visit(j, v);
    }
}

void L1Gradient::step(std::size_t j, bool positive) {
    require(j < cols(), "no such column");
    require(steps_ < static_cast<std::int64_t>(kMaxSteps), "too many steps");
    ++steps_;
    const std::int64_t weight = (steps_ + 1) * kStartWeight;
    total_ += weight;
    add(j, positive ? weight : -weight);
}

void L1Gradient::drop(std::size_t j) {
    require(j < cols(), "no such column");
    const auto found = moved_.find(j);
    const std::int64_t moved = found == moved_.end() ? 0 : found->second;
    add(j, -(start_.empty() ? moved : start_[j] + moved));
}

void L1Gradient::add(std::size_t j, std::int64_t change) {
    ++version_;
    moved_[j] += change;
    if (pending_.emplace(j, 0).second) pending_cells_ += design_.column(j).size;
    pending_[j] += change;
    tracked_->add(j, change);
}

void L1Gradient::add_to_fitted(std::size_t j, std::int64_t change) {
    design_.column(j).visit(
        [&](std::size_t i, std::int16_t cell) { fitted_[i] += int128{change} * cell; });
}

void L1Gradient::settle() {
    for (const auto& [j, change] : pending_) add_to_fitted(j, change);
    pending_.clear();
    pending_cells_ = 0;
    spared_cells_ = 0;
}

int128 L1Gradient::fitted_product(std::size_t j) {
    const UnitColumn column = design_.column(j);
    spared_cells_ += column.size * design_.row_cost(pending_);
    if (spared_cells_ >= pending_cells_) settle();
    int128 sum = 0;
    if (pending_.empty()) {
        column.visit([&](std::size_t i, std::int16_t cell) { sum += fitted_[i] * cell; });
    } else {
        column.visit([&](std::size_t i, std::int16_t cell) {
            sum += (fitted_[i] + design_.row_product(i, pending_)) * cell;
        });
    }
    return sum;
}

std::int64_t L1Gradient::response_product(std::size_t j) const {
    std::int64_t sum = 0;
    design_.column(j).visit(
        [&](std::size_t i, std::int16_t cell) { sum += std::int64_t{y_[i]} * cell; });
    return sum;
}

void L1Gradient::track(std::vector<std::uint32_t> columns) {
    version_ += 2;  // no step or drop, which bounds that were made before could follow
    ColumnSet set(cols(), std::move(columns));
    std::vector<int128> sums(set.size(), 0);
    std::vector<std::int64_t> crossprod(set.size());
    for (std::size_t slot = 0; slot < set.size(); ++slot) {
        const std::size_t j = set[slot];
        if (tracked_ && tracked().contains(j)) {
            sums[slot] = tracked_->sum(tracked().slot(j));
            crossprod[slot] = crossprod_[tracked().slot(j)];
            continue;
        }
        if (!start_.empty() || !moved_.empty()) sums[slot] = fitted_product(j);
        crossprod[slot] = response_product(j);
    }
    tracked_ = std::make_unique<TrackedColumns>(design_, std::move(set), std::move(sums));
    crossprod_ = std::move(crossprod);
}

int128 L1Gradient::numerator(std::size_t j) {
    if (tracked().contains(j)) return tracked_numerator(tracked().slot(j));
    return fitted_product(j) * kAlign - int128{total_} * response_product(j);
}

std::int64_t L1Gradient::reach(std::size_t j) const {
    require(j < cols(), "no such column");
    const std::int32_t* reach = row_reach_.data();
    std::int64_t sum = 0;
    design_.column(j).visit([&](std::size_t i, std::int16_t cell) {
        sum += std::int64_t{reach[i]} * std::abs(std::int32_t{cell});
    });
    return sum;
}

bool L1Gradient::reaches_beyond(std::size_t j, std::int64_t limit) const {
    // No cell adds more than 2^kCellBits times the largest reach of a row.
    const auto cells = static_cast<std::int64_t>(design_.column(j).size);
    return cells > limit >> (kCellBits + kResponseBits + 1) && reach(j) > limit;
}

double L1Gradient::denominator() const {
    return std::ldexp(static_cast<double>(total_), kCellBits + kResponseBits);
}

double L1Gradient::scale() const { return l1_ / denominator(); }

std::vector<double> L1Gradient::scaled_values() {
    std::vector<double> g(cols());
    for (std::size_t j = 0; j < g.size(); ++j) {
        g[j] = static_cast<double>(numerator(j)) / denominator();
    }
    return g;
}

void L1Gradient::write_weights(double* w) const {
    visit_coordinates([&](std::size_t j, std::int64_t v) {
        if (v != 0) w[j] = l1_ * (static_cast<double>(v) / static_cast<double>(total_));
    });
}

double L1Gradient::wolfe_gap(const std::vector<double>& values,
                             const std::vector<std::uint8_t>& active) const {
    double largest = 0.0;
    for (std::size_t j = 0; j < cols(); ++j) {
        if (active[j] != 0) largest = std::fmax(largest, std::fabs(values[j]));
    }
    // Compensated, so that the error does not grow with the number of columns.
    double sum = 0.0;
    double lost = 0.0;
    visit_coordinates([&](std::size_t j, std::int64_t v) {
        if (active[j] == 0) return;
        const double term = static_cast<double>(v) / static_cast<double>(total_) * values[j] - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    });
    return std::fmax(0.0, sum + largest);
}

}  // namespace dpreg
