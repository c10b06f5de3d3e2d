#include "dpreg/stats/unit_design.hpp"

#include <algorithm>
#include <bitset>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

SparseView checked(const SparseView& x) {
    const auto entries = static_cast<std::int64_t>(x.entries);
    require(x.row_start[0] == 0 && x.row_start[x.rows] == entries &&
                std::is_sorted(x.row_start, x.row_start + x.rows + 1),
            "X: the row starts of a sparse matrix must rise from 0 to the number of entries");
    require(
        std::all_of(x.columns, x.columns + x.entries,
                    [&](std::int32_t j) { return j >= 0 && static_cast<std::size_t>(j) < x.cols; }),
        "X: the column indices of a sparse matrix must be below its number of columns");
    bool rise = true;
    for (std::size_t i = 0; i < x.rows; ++i) {
        for (auto e = x.row_start[i] + 1; e < x.row_start[i + 1]; ++e) {
            rise &= x.columns[e - 1] < x.columns[e];
        }
    }
    require(rise, "X: the column indices of a row of a sparse matrix must rise");
    return x;
}

/// Prefetches the data of the next rows, which are scattered in memory.
template <class Start, class Entry, class Visit>
void visit_ahead(const UnitColumn& column, const Start* start, const Entry* entries, Visit visit) {
    constexpr std::size_t kStarts = 16, kEntries = 8;
    for (std::size_t k = 0; k < column.size; ++k) {
        if (k + kStarts < column.size) __builtin_prefetch(start + column.rows[k + kStarts]);
        if (k + kEntries < column.size) {
            __builtin_prefetch(entries + start[column.rows[k + kEntries]]);
        }
        visit(std::size_t{column.rows[k]}, std::int32_t{column.cells[k]});
    }
}

}  // namespace

ColumnSet::ColumnSet(std::size_t cols, std::vector<std::uint32_t> columns)
    : words_(cols / kWord + 1), before_(cols / kWord + 1), columns_(std::move(columns)) {
    for (const std::size_t j : columns_) words_[j / kWord] |= std::uint64_t{1} << (j % kWord);
    std::size_t seen = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
        before_[w] = static_cast<std::uint32_t>(seen);
        seen += std::bitset<kWord>(words_[w]).count();
    }
}

std::size_t ColumnSet::slot(std::size_t j) const {
    const std::uint64_t lower = (std::uint64_t{1} << (j % kWord)) - 1;
    return before_[j / kWord] + std::bitset<kWord>(words_[j / kWord] & lower).count();
}

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

std::size_t DenseUnitDesign::add_products(std::size_t j, ColumnProducts& products) const {
    const std::int16_t* left = column(j).cells;
    for (std::size_t slot = 0; slot < products.columns.size(); ++slot) {
        const std::int16_t* right = column(products.columns[slot]).cells;
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < rows(); ++i) {
            // Below 2^28, so the product fits 32 bits.
            sum += static_cast<std::int64_t>(std::int32_t{left[i]} * std::int32_t{right[i]});
        }
        products.sums.add(slot, sum);
    }
    return rows() * products.columns.size();
}

SparseUnitDesign::SparseUnitDesign(const SparseView& x)
    : UnitDesign(x.rows, x.cols), rows_(checked(x)), columns_(rows_) {}

int128 SparseUnitDesign::row_product(std::size_t i, const Changes& v) const {
    const SparseView& x = rows_;
    int128 sum = 0;
    for (auto e = x.row_start[i]; e < x.row_start[i + 1]; ++e) {
        const auto found = v.find(static_cast<std::size_t>(x.columns[e]));
        if (found != v.end()) sum += int128{found->second} * to_cell(x.values[e]);
    }
    return sum;
}

std::size_t SparseUnitDesign::row_cost(const Changes& v) const {
    return v.empty() ? 0 : rows_.entries / std::max<std::size_t>(rows(), 1) + 1;
}

std::vector<std::int16_t> SparseUnitDesign::largest_by_row() const {
    const SparseView& x = rows_;
    std::vector<std::int16_t> largest(rows());
    for (std::size_t i = 0; i < rows(); ++i) {
        double size = 0.0;
        // fmax passes over NaN, which is a cell of 0.
        for (auto e = x.row_start[i]; e < x.row_start[i + 1]; ++e) {
            size = std::fmax(size, std::fabs(x.values[e]));
        }
        largest[i] = to_cell(size);
    }
    return largest;
}

/// Goes through the rows in which the column is not 0, or, where that is less, through the columns
/// of the set with this one laid out by rows.
std::size_t SparseUnitDesign::add_products(std::size_t j, ColumnProducts& products) const {
    // An entry of a row, which may not be in the set, takes as long as this many of a column.
    constexpr std::size_t kRowsOverColumns = 8;
    const std::size_t in_rows = column(j).size * (rows_.entries / (rows() + 1) + 1);
    if (in_rows * kRowsOverColumns <= products.cells) return add_from_rows(column(j), products);
    add_from_columns(column(j), products);
    return products.cells;
}

std::size_t SparseUnitDesign::add_from_rows(const UnitColumn& column,
                                            ColumnProducts& products) const {
    const SparseView& x = rows_;
    std::size_t cells = 0;
    visit_ahead(column, x.row_start, x.columns, [&](std::size_t i, std::int32_t cell) {
        cells += static_cast<std::size_t>(x.row_start[i + 1] - x.row_start[i]);
        for (auto e = x.row_start[i]; e < x.row_start[i + 1]; ++e) {
            const auto k = static_cast<std::size_t>(x.columns[e]);
            if (!products.columns.contains(k)) continue;
            products.sums.add(products.columns.slot(k), std::int64_t{cell} * to_cell(x.values[e]));
        }
    });
    return cells;
}

void SparseUnitDesign::add_from_columns(const UnitColumn& column, ColumnProducts& products) const {
    auto& by_row = products.by_row;
    by_row.resize(rows());
    column.visit([&](std::size_t i, std::int16_t cell) { by_row[i] = cell; });
    for (std::size_t slot = 0; slot < products.columns.size(); ++slot) {
        std::int64_t sum = 0;
        columns_.column(products.columns[slot]).visit([&](std::size_t i, std::int16_t cell) {
            // Below 2^28, so the product fits 32 bits.
            sum += static_cast<std::int64_t>(std::int32_t{cell} * std::int32_t{by_row[i]});
        });
        products.sums.add(slot, sum);
    }
    column.visit([&](std::size_t i, std::int16_t) { by_row[i] = 0; });
}

}  // namespace dpreg
