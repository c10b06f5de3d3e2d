#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/stats/cells.hpp"

namespace dpreg {

/// Some of the columns of a matrix, numbered in rising order: their slots.
///
/// Takes a bit and a half per column of the matrix, and 4 bytes per column of the set.
class ColumnSet {
public:
    /// Domain  rising, and below cols.
    ColumnSet(std::size_t cols, std::vector<std::uint32_t> columns);

    std::size_t size() const { return columns_.size(); }
    std::size_t operator[](std::size_t slot) const { return columns_[slot]; }
    const std::vector<std::uint32_t>& columns() const { return columns_; }

    bool contains(std::size_t j) const { return (words_[j / kWord] >> (j % kWord) & 1) != 0; }

    /// Domain  contains(j).
    std::size_t slot(std::size_t j) const;

private:
    static constexpr std::size_t kWord = 64;

    std::vector<std::uint64_t> words_;   ///< a bit per column
    std::vector<std::uint32_t> before_;  ///< how many of the set precede each word
    std::vector<std::uint32_t> columns_;
};

/// Sums by slot of a ColumnSet, most of which are 0.
class SlotSums {
public:
    explicit SlotSums(std::size_t size) : sums_(size, 0) {}

    void add(std::size_t slot, std::int64_t term) {
        if (sums_[slot] == 0) touched_.push_back(static_cast<std::uint32_t>(slot));
        sums_[slot] += term;
    }

    /// Calls take(slot, sum) for each sum that is not 0, and sets all to 0.
    template <class Take>
    void drain(Take take) {
        for (const std::uint32_t slot : touched_) {
            // A slot that was 0 in between is listed twice.
            if (sums_[slot] != 0) take(slot, sums_[slot]);
            sums_[slot] = 0;
        }
        touched_.clear();
    }

private:
    std::vector<std::int64_t> sums_;
    std::vector<std::uint32_t> touched_;
};

/// Fewer rows than this keep every sum within its type (l1_gradient.md, section 3).
inline constexpr std::uint64_t kMaxUnitRows = std::uint64_t{1} << 32;

/// Entries of a vector that are not 0, by place.
using Changes = std::unordered_map<std::size_t, std::int64_t>;

/// A set of columns of a design, and room to find the products of another column with them.
struct ColumnProducts {
    explicit ColumnProducts(ColumnSet set) : columns(std::move(set)), sums(columns.size()) {}

    ColumnSet columns;
    std::size_t cells = 0;  ///< of these columns: what going through them takes
    SlotSums sums;
    std::vector<std::int16_t> by_row;  ///< zeros between calls
};

/// Records with cells in [-1, 1], as integers, by columns, and the products of columns that
/// Frank-Wolfe needs.  All sums are exact, hence the same in any order.
///
/// A row of cells is a function of its own record, so neighbouring data give neighbouring
/// designs.
class UnitDesign {
public:
    UnitDesign(const UnitDesign&) = delete;
    UnitDesign& operator=(const UnitDesign&) = delete;
    virtual ~UnitDesign();

    std::size_t rows() const { return rows_; }
    std::size_t cols() const { return cols_; }

    virtual UnitColumn column(std::size_t j) const = 0;

    /// The product of row i and v.  The absolute values of v add up to less than 2^61.
    virtual int128 row_product(std::size_t i, const Changes& v) const = 0;

    /// About how many cells `row_product` goes through.
    virtual std::size_t row_cost(const Changes& v) const = 0;

    /// The largest |cell| of each row.
    virtual std::vector<std::int16_t> largest_by_row() const = 0;

    /// products.sums[slot of k] += (X'X)_jk for the columns k of the set.  Returns how many cells
    /// it went through.
    virtual std::size_t add_products(std::size_t j, ColumnProducts& products) const = 0;

    /// Number of column products that may be stored, small relative to the cells.
    virtual std::size_t products_to_keep() const = 0;

protected:
    /// Throws InvalidArgument unless 1 <= cols < 2^31 and rows < kMaxUnitRows.
    UnitDesign(std::size_t rows, std::size_t cols);

private:
    std::size_t rows_;
    std::size_t cols_;
};

/// A dense matrix: 2 bytes a cell.
class DenseUnitDesign final : public UnitDesign {
public:
    explicit DenseUnitDesign(MatrixView x);
    UnitColumn column(std::size_t j) const override;
    int128 row_product(std::size_t i, const Changes& v) const override;
    std::size_t row_cost(const Changes& v) const override { return v.size(); }
    std::vector<std::int16_t> largest_by_row() const override;
    std::size_t add_products(std::size_t j, ColumnProducts& products) const override;
    std::size_t products_to_keep() const override { return cells_.size(); }

private:
    std::vector<std::int16_t> cells_;  ///< column by column
};

/// A sparse matrix, by rows and by columns.  Reads the caller's arrays, which must outlive it.
class SparseUnitDesign : public UnitDesign {
public:
    /// Throws InvalidArgument when the arrays do not describe a matrix, each cell once.
    explicit SparseUnitDesign(const SparseView& x);
    UnitColumn column(std::size_t j) const override { return columns_.column(j); }
    int128 row_product(std::size_t i, const Changes& v) const override;
    std::size_t row_cost(const Changes& v) const override;
    std::vector<std::int16_t> largest_by_row() const override;
    std::size_t add_products(std::size_t j, ColumnProducts& products) const override;
    std::size_t products_to_keep() const override { return columns_.size() / 8; }

private:
    std::size_t add_from_rows(const UnitColumn& column, ColumnProducts& products) const;
    void add_from_columns(const UnitColumn& column, ColumnProducts& products) const;

    SparseView rows_;
    CellColumns columns_;
};

}  // namespace dpreg
