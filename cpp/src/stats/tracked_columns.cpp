#include "dpreg/stats/tracked_columns.hpp"

#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

/// A row of products is kept when computing it takes this many cells for each of them.
constexpr std::size_t kWorthKeeping = 4;

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

}  // namespace dpreg
