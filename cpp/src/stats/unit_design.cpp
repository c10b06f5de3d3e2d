#include "dpreg/stats/unit_design.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "dpreg/error.hpp"

namespace dpreg {

UnitDesign::UnitDesign(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols) {
    require(cols >= 1 && cols <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
            "X must have at least one column and fewer than 2^31");
    require(rows < kMaxUnitRows, "X must have fewer than 2^32 rows");
}

UnitDesign::~UnitDesign() = default;

DenseUnitDesign::DenseUnitDesign(MatrixView x) : UnitDesign(x.rows, x.cols) {
    constexpr std::size_t kRowsInCache = 64;
    cells_.resize(x.rows * x.cols);
    for (std::size_t first = 0; first < x.rows; first += kRowsInCache) {
        const std::size_t last = std::min(x.rows, first + kRowsInCache);
        for (std::size_t j = 0; j < x.cols; ++j) {
            for (std::size_t i = first; i < last; ++i) cells_[j * x.rows + i] = to_cell(x(i, j));
        }
    }
}

UnitColumn DenseUnitDesign::column(std::size_t j) const {
    return {nullptr, cells_.data() + j * rows(), rows()};
}

int128 DenseUnitDesign::row_product(std::size_t i, const Changes& v) const {
    int128 sum = 0;
    for (const auto& [j, entry] : v) sum += int128{entry} * column(j).cells[i];
    return sum;
}

std::vector<std::int16_t> DenseUnitDesign::largest_by_row() const {
    std::vector<std::int16_t> largest(rows(), 0);
    for (std::size_t j = 0; j < cols(); ++j) {
        column(j).visit([&](std::size_t i, std::int16_t cell) {
            largest[i] = std::max(largest[i], static_cast<std::int16_t>(std::abs(cell)));
        });
    }
    return largest;
}

namespace {

class DenseGramRows final : public GramRows {
public:
    DenseGramRows(const DenseUnitDesign& design, const ColumnSet& columns)
        : design_(design), columns_(columns) {}

    std::size_t add(std::size_t j, SlotSums& products) override {
        const std::int16_t* left = design_.column(j).cells;
        for (std::size_t slot = 0; slot < columns_.size(); ++slot) {
            const std::int16_t* right = design_.column(columns_[slot]).cells;
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < design_.rows(); ++i) {
                // Below 2^28, so the product fits 32 bits.
                sum += static_cast<std::int64_t>(std::int32_t{left[i]} * std::int32_t{right[i]});
            }
            products.add(slot, sum);
        }
        return design_.rows() * columns_.size();
    }

private:
    const DenseUnitDesign& design_;
    const ColumnSet& columns_;
};

}  // namespace

std::unique_ptr<GramRows> DenseUnitDesign::gram_rows(const ColumnSet& columns) const {
    return std::make_unique<DenseGramRows>(*this, columns);
}

}  // namespace dpreg
