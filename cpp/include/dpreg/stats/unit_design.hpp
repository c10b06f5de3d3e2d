#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/matrix.hpp"

namespace dpreg {

/// Cells are integers, in units of 2^-kCellBits.
inline constexpr int kCellBits = 14;
/// Responses are integers, in units of 2^-kResponseBits of the l1 radius.
inline constexpr int kResponseBits = 16;
/// Fewer rows than this keep every sum below within its type (l1_gradient.md, section 3).
inline constexpr std::size_t kMaxUnitRows = std::size_t{1} << 32;

/// `x` clipped to [-1, 1] and rounded to the grid of cells; NaN is 0.
std::int16_t to_cell(double x);

/// y / l1 clipped to [-1, 1] and rounded to the grid of responses; NaN is 0.
std::vector<std::int32_t> to_responses(VectorView y, double l1);

/// Compressed sparse rows that somebody else owns.  Row i has the entries
/// row_start[i], ..., row_start[i + 1] - 1, in any order; entries of one cell are added.
struct SparseView {
    const std::int64_t* row_start;  ///< size rows + 1
    const std::int32_t* columns;
    const double* values;
    std::size_t rows;
    std::size_t cols;
    std::size_t entries;
};

/// Records with cells in [-1, 1], as integers, and the few products of them that
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

    /// sums[k] += times * (X'X)_jk for every column k.  |times| < 2^60.
    virtual void add_gram_column(std::size_t j, std::int64_t times, std::vector<int128>& sums) = 0;

    /// sums += X'X v.  The absolute values of v add up to less than 2^48.
    virtual void add_gram_product(const std::vector<std::int64_t>& v,
                                  std::vector<int128>& sums) const = 0;

    /// X'y.
    virtual std::vector<std::int64_t> crossprod(const std::vector<std::int32_t>& y) const = 0;

protected:
    /// Throws InvalidArgument unless 1 <= cols < 2^31 and rows < kMaxUnitRows.
    UnitDesign(std::size_t rows, std::size_t cols);

private:
    std::size_t rows_;
    std::size_t cols_;
};

/// A dense matrix: 2 bytes a cell.
///
/// Cost  a column of X'X takes rows * cols multiplications, once: it is kept when
///       cols <= rows, so what is kept is never larger than 8 bytes a cell.
class DenseUnitDesign final : public UnitDesign {
public:
    explicit DenseUnitDesign(MatrixView x);
    void add_gram_column(std::size_t j, std::int64_t times, std::vector<int128>& sums) override;
    void add_gram_product(const std::vector<std::int64_t>& v,
                          std::vector<int128>& sums) const override;
    std::vector<std::int64_t> crossprod(const std::vector<std::int32_t>& y) const override;

private:
    const std::int16_t* column(std::size_t j) const { return cells_.data() + j * rows(); }
    std::vector<std::int64_t> gram_column(std::size_t j) const;

    std::vector<std::int16_t> cells_;  ///< column by column
    std::unordered_map<std::size_t, std::vector<std::int64_t>> kept_;
};

/// A sparse matrix.  Keeps a transposed copy, 6 bytes a non-zero cell and 8 a column, and
/// reads rows from the caller's arrays, which must outlive it; only if a cell has several
/// entries does it keep a copy of the rows as well.
///
/// Cost  a column of X'X takes one operation for each entry of each row in which the
///       column is not 0.
class SparseUnitDesign : public UnitDesign {
public:
    /// Throws InvalidArgument when the arrays do not describe a matrix.
    explicit SparseUnitDesign(const SparseView& x);
    void add_gram_column(std::size_t j, std::int64_t times, std::vector<int128>& sums) override;
    void add_gram_product(const std::vector<std::int64_t>& v,
                          std::vector<int128>& sums) const override;
    std::vector<std::int64_t> crossprod(const std::vector<std::int32_t>& y) const override;

private:
    bool has_duplicates() const;
    void merge_duplicates();
    void transpose();

    SparseView view_;  ///< at most one entry a cell
    std::vector<std::int64_t> merged_start_;
    std::vector<std::int32_t> merged_columns_;
    std::vector<double> merged_values_;

    std::vector<std::int64_t> column_start_;
    std::vector<std::uint32_t> row_of_;
    std::vector<std::int16_t> cell_of_;
};

}  // namespace dpreg
