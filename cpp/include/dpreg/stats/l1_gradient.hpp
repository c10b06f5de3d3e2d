#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/stats/unit_design.hpp"

namespace dpreg {

/// Entries of X'X v that are kept up to date while single entries of v change.
///
/// Cost  a change of v_j takes the products of column j with the tracked columns.  They are kept
///       where computing them takes much longer than going through them, up to
///       `UnitDesign::products_to_keep()` in all.
class TrackedColumns {
public:
    /// Domain  sums[slot] = (X'X v)_j for the column j with this slot.
    TrackedColumns(const UnitDesign& design, ColumnSet columns, std::vector<int128> sums);
    TrackedColumns(const TrackedColumns&) = delete;
    TrackedColumns& operator=(const TrackedColumns&) = delete;

    const ColumnSet& columns() const { return products_.columns; }

    /// (X'X v)_j for the column j with this slot.
    int128 sum(std::size_t slot) const { return sums_[slot]; }

    /// v_j += change.  |change| < 2^61.
    void add(std::size_t j, std::int64_t change);

    /// The slots of the sums that the last `add` may have changed.
    const std::vector<std::uint32_t>& touched() const { return last_->slots; }

private:
    /// The products of a column that are not 0, by slot.
    struct GramRow {
        std::vector<std::uint32_t> slots;
        std::vector<std::int64_t> products;
    };

    const GramRow& gram_row(std::size_t j);

    const UnitDesign& design_;
    ColumnProducts products_;
    std::vector<int128> sums_;
    GramRow row_;  ///< of the last column whose row is not kept
    std::unordered_map<std::size_t, GramRow> kept_;
    std::size_t room_;  ///< products that may still be kept
    const GramRow* last_ = &row_;
};

/// Most steps of one run of Frank-Wolfe.
inline constexpr std::size_t kMaxSteps = 32000;
/// Integer weight of the start; step t adds (t + 1) times as much to one coordinate.
inline constexpr std::int64_t kStartWeight = std::int64_t{1} << 30;

/// Largest change of a gradient sum g_j = sum_i x_ij (w.x_i - y_i) when one record with
/// |x_ij| <= 1, |y_i| <= l1 comes or goes, for ||w||_1 <= l1: attained (l1_gradient.md).
constexpr double l1_gradient_sensitivity(double l1) { return 2.0 * l1; }

/// Range (largest less smallest) of the changes of the scores -g_j of the vertices +l1 e_j and
/// +g_j of the vertices -l1 e_j: attained.
constexpr double vertex_score_range(double l1) { return 4.0 * l1; }

/// A point w = l1 v / W of the l1 ball, and the gradient of half the sum of squares at it:
/// g = X'(Xw - y).  Both are exact: v, W and the numerators of g are integers.
///
/// Frank-Wolfe's step 2/(t + 2), t = 1, 2, ..., from w_0 has
///     w_t = (w_0 + sum_k (k + 1) vertex_k) / W_t,   W_t = (t + 1)(t + 2) / 2.
/// So a step changes one entry of v and the scalar W; the numerators are 4 X'X v - W X'y, of
/// which X'y never changes.  Nothing is scaled, and nothing is rounded.
///
/// X'X v is kept up to date for the tracked columns.  For others it is computed on demand,
/// from the fitted values Xv, which are updated only when that pays.
///
/// Sensitivity  `l1_gradient_sensitivity`, `vertex_score_range` (for given w).
/// Cost         a step takes a row of X'X at the tracked columns; the numerator of another column
///              takes its cells and those of its rows, but no more than the cells of the columns
///              chosen since the fitted values were brought up to date.
class L1Gradient {
public:
    /// Starts at w_0 = l1 start / kStartWeight, which is 0 when `start` is empty.
    ///
    /// Domain  y from to_responses(., l1), one a row; start is empty or has one entry per column,
    ///         and absolute values that add up to kStartWeight at most.
    L1Gradient(const UnitDesign& design, std::vector<std::int32_t> y, double l1,
               std::vector<std::int32_t> start);

    /// w <- (1 - gamma) w + gamma (+-l1 e_j), gamma = 2 / (t + 2).  At most kMaxSteps times.
    void step(std::size_t j, bool positive);

    /// w_j <- 0.
    void drop(std::size_t j);

    /// Keeps X'X v of these columns up to date from now on, and of no others.
    void track(std::vector<std::uint32_t> columns);

    /// The tracked columns.
    const ColumnSet& tracked() const { return tracked_->columns(); }

    /// The slots of the tracked columns of which the last step or drop may have changed X'X v.
    const std::vector<std::uint32_t>& touched() const { return tracked_->touched(); }

    /// (X'y)_j of the tracked column j with this slot.
    std::int64_t tracked_crossprod(std::size_t slot) const { return crossprod_[slot]; }

    /// numerator(j) of the tracked column j with this slot.
    int128 tracked_numerator(std::size_t slot) const {
        return tracked_->sum(slot) * kAlign - int128{total_} * crossprod_[slot];
    }

    /// How often v has changed and, twice each, what is tracked.
    std::uint64_t version() const { return version_; }

    /// W.
    std::int64_t total() const { return total_; }

    /// g_j = numerator(j) * scale() exactly, but for the rounding of scale().
    int128 numerator(std::size_t j);

    /// |numerator(j)| <= W reach(j) for every w in the ball.
    std::int64_t reach(std::size_t j) const;

    /// reach(j) > limit, mostly seen from the number of its cells.
    bool reaches_beyond(std::size_t j, std::int64_t limit) const;

    /// l1 / denominator().
    double scale() const;

    /// numerator(j) / denominator() is g_j / l1; a power of two times W, exact.
    double denominator() const;

    /// numerator(j) / denominator() of all columns, rounded.
    std::vector<double> scaled_values();

    /// Writes the coordinates of w that are not 0, rounded, over those of `w`.
    void write_weights(double* w) const;

    /// w.g + l1 max |g_j| over the columns in `active`, in units of l1^2: with all columns,
    /// at least f(w) - f(w*) for f half the sum of squares (the Wolfe gap), up to rounding.
    /// Domain  `values` is scaled_values().
    double wolfe_gap(const std::vector<double>& values,
                     const std::vector<std::uint8_t>& active) const;

    double l1() const { return l1_; }
    std::size_t rows() const { return design_.rows(); }
    std::size_t cols() const { return design_.cols(); }

private:
    /// Brings products of cells to the grid of products of a cell and a response.
    static constexpr int kAlign = 1 << (kResponseBits - kCellBits);

    template <class Visit>
    void visit_coordinates(Visit visit) const;

    void add(std::size_t j, std::int64_t change);
    void add_to_fitted(std::size_t j, std::int64_t change);
    void settle();
    int128 fitted_product(std::size_t j);
    std::int64_t response_product(std::size_t j) const;

    const UnitDesign& design_;
    std::vector<std::int32_t> y_;
    std::vector<std::int32_t> row_reach_;  ///< largest |w.x_i - y_i| in the ball
    double l1_;
    std::uint64_t version_ = 0;
    std::int64_t steps_ = 0;
    std::int64_t total_ = kStartWeight;          ///< W
    std::vector<std::int32_t> start_;            ///< empty at 0
    std::map<std::size_t, std::int64_t> moved_;  ///< v less the start
    Changes pending_;                            ///< v less what `fitted_` has of it
    std::size_t pending_cells_ = 0;              ///< of those columns
    std::size_t spared_cells_ = 0;               ///< gone through for not settling
    std::vector<int128> fitted_;                 ///< Xv, but for what is pending
    std::unique_ptr<TrackedColumns> tracked_;    ///< never null
    std::vector<std::int64_t> crossprod_;        ///< X'y at the tracked columns
};

}  // namespace dpreg
