#include "dpreg/stats/unit_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

/// `x` in [-1, 1] in steps of 2^-bits, to the nearest, halves away from 0; NaN is 0.
std::int32_t to_grid_of(double x, int bits) {
    if (std::isnan(x)) return 0;
    const double scaled = std::clamp(x, -1.0, 1.0) * static_cast<double>(1 << bits);
    return static_cast<std::int32_t>(scaled < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

std::int16_t to_cell(double x) { return static_cast<std::int16_t>(to_grid_of(x, kCellBits)); }

std::vector<std::int32_t> to_responses(VectorView y, double l1) {
    require(l1 > 0.0 && std::isfinite(l1), "l1 must be finite and greater than 0");
    std::vector<std::int32_t> responses(y.size);
    for (std::size_t i = 0; i < y.size; ++i) {
        responses[i] = to_grid_of(std::clamp(y[i], -l1, l1) / l1, kResponseBits);
    }
    return responses;
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

std::vector<std::int64_t> DenseUnitDesign::gram_column(std::size_t j) const {
    std::vector<std::int64_t> products(cols());
    const std::int16_t* left = column(j);
    for (std::size_t k = 0; k < cols(); ++k) {
        const std::int16_t* right = column(k);
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < rows(); ++i) {
            // Below 2^28, so the product fits 32 bits.
            sum += static_cast<std::int64_t>(std::int32_t{left[i]} * std::int32_t{right[i]});
        }
        products[k] = sum;
    }
    return products;
}

void DenseUnitDesign::add_gram_column(std::size_t j, std::int64_t times,
                                      std::vector<int128>& sums) {
    const auto add = [&](const std::vector<std::int64_t>& products) {
        for (std::size_t k = 0; k < cols(); ++k) sums[k] += int128{times} * products[k];
    };
    if (cols() > rows()) return add(gram_column(j));
    auto found = kept_.find(j);
    if (found == kept_.end()) found = kept_.emplace(j, gram_column(j)).first;
    add(found->second);
}

void DenseUnitDesign::add_gram_product(const std::vector<std::int64_t>& v,
                                       std::vector<int128>& sums) const {
    std::vector<std::int64_t> fitted(rows(), 0);
    for (std::size_t j = 0; j < cols(); ++j) {
        if (v[j] == 0) continue;
        const std::int16_t* cells = column(j);
        for (std::size_t i = 0; i < rows(); ++i) fitted[i] += v[j] * cells[i];
    }
    for (std::size_t j = 0; j < cols(); ++j) {
        const std::int16_t* cells = column(j);
        for (std::size_t i = 0; i < rows(); ++i) sums[j] += int128{fitted[i]} * cells[i];
    }
}

std::vector<std::int64_t> DenseUnitDesign::crossprod(const std::vector<std::int32_t>& y) const {
    std::vector<std::int64_t> products(cols(), 0);
    for (std::size_t j = 0; j < cols(); ++j) {
        const std::int16_t* cells = column(j);
        for (std::size_t i = 0; i < rows(); ++i) products[j] += std::int64_t{y[i]} * cells[i];
    }
    return products;
}

SparseUnitDesign::SparseUnitDesign(const SparseView& x) : UnitDesign(x.rows, x.cols), view_(x) {
    const auto entries = static_cast<std::int64_t>(x.entries);
    require(x.row_start[0] == 0 && x.row_start[x.rows] == entries &&
                std::is_sorted(x.row_start, x.row_start + x.rows + 1),
            "X: the row starts of a sparse matrix must rise from 0 to the number of entries");
    require(
        std::all_of(x.columns, x.columns + x.entries,
                    [&](std::int32_t j) { return j >= 0 && static_cast<std::size_t>(j) < x.cols; }),
        "X: the column indices of a sparse matrix must be below its number of columns");
    if (has_duplicates()) merge_duplicates();
    transpose();
}

bool SparseUnitDesign::has_duplicates() const {
    std::vector<std::uint32_t> last_row(cols(), 0);  // plus 1
    for (std::size_t i = 0; i < rows(); ++i) {
        const auto mark = static_cast<std::uint32_t>(i + 1);
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            auto& seen = last_row[static_cast<std::size_t>(view_.columns[e])];
            if (seen == mark) return true;
            seen = mark;
        }
    }
    return false;
}

void SparseUnitDesign::merge_duplicates() {
    // Entries of a cell are added in the order in which they are stored.
    std::vector<std::int64_t> place(cols(), -1);
    merged_start_.reserve(rows() + 1);
    merged_start_.push_back(0);
    for (std::size_t i = 0; i < rows(); ++i) {
        const auto first = static_cast<std::int64_t>(merged_columns_.size());
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            auto& at = place[static_cast<std::size_t>(view_.columns[e])];
            if (at >= first) {
                merged_values_[static_cast<std::size_t>(at)] += view_.values[e];
                continue;
            }
            at = static_cast<std::int64_t>(merged_columns_.size());
            merged_columns_.push_back(view_.columns[e]);
            merged_values_.push_back(view_.values[e]);
        }
        merged_start_.push_back(static_cast<std::int64_t>(merged_columns_.size()));
    }
    view_ = {merged_start_.data(),  merged_columns_.data(), merged_values_.data(), rows(), cols(),
             merged_columns_.size()};
}

void SparseUnitDesign::transpose() {
    // Two places on: while the copy is filled, [j + 1] is where column j goes on.
    column_start_.assign(cols() + 2, 0);
    for (std::size_t e = 0; e < view_.entries; ++e) {
        const bool zero = to_cell(view_.values[e]) == 0;
        if (!zero) ++column_start_[static_cast<std::size_t>(view_.columns[e]) + 2];
    }
    std::partial_sum(column_start_.begin(), column_start_.end(), column_start_.begin());
    row_of_.resize(static_cast<std::size_t>(column_start_.back()));
    cell_of_.resize(row_of_.size());
    for (std::size_t i = 0; i < rows(); ++i) {
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            const auto cell = to_cell(view_.values[e]);
            if (cell == 0) continue;
            const auto at = static_cast<std::size_t>(
                column_start_[static_cast<std::size_t>(view_.columns[e]) + 1]++);
            row_of_[at] = static_cast<std::uint32_t>(i);
            cell_of_[at] = cell;
        }
    }
    column_start_.pop_back();
}

void SparseUnitDesign::add_gram_column(std::size_t j, std::int64_t times,
                                       std::vector<int128>& sums) {
    for (auto c = column_start_[j]; c < column_start_[j + 1]; ++c) {
        const std::size_t i = row_of_[static_cast<std::size_t>(c)];
        const int128 factor = int128{times} * cell_of_[static_cast<std::size_t>(c)];
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            sums[static_cast<std::size_t>(view_.columns[e])] += factor * to_cell(view_.values[e]);
        }
    }
}

void SparseUnitDesign::add_gram_product(const std::vector<std::int64_t>& v,
                                        std::vector<int128>& sums) const {
    for (std::size_t i = 0; i < rows(); ++i) {
        std::int64_t fitted = 0;
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            fitted += v[static_cast<std::size_t>(view_.columns[e])] * to_cell(view_.values[e]);
        }
        for (auto e = view_.row_start[i]; e < view_.row_start[i + 1]; ++e) {
            sums[static_cast<std::size_t>(view_.columns[e])] +=
                int128{fitted} * to_cell(view_.values[e]);
        }
    }
}

std::vector<std::int64_t> SparseUnitDesign::crossprod(const std::vector<std::int32_t>& y) const {
    std::vector<std::int64_t> products(cols(), 0);
    for (std::size_t j = 0; j < cols(); ++j) {
        for (auto c = column_start_[j]; c < column_start_[j + 1]; ++c) {
            const auto at = static_cast<std::size_t>(c);
            products[j] += std::int64_t{cell_of_[at]} * y[row_of_[at]];
        }
    }
    return products;
}

}  // namespace dpreg
