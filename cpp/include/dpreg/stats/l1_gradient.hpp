#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/stats/unit_design.hpp"

namespace dpreg {

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
///     w_t = (w_0 + sum_k (k + 1) vertex_k) / W_t,   W_t = (t + 1)(t + 2) / 2,
/// so a step adds an integer multiple of one column of X'X to X'X v and changes W: nothing
/// else is scaled, and nothing is rounded.
///
/// Sensitivity  `l1_gradient_sensitivity`, `vertex_score_range` (for given w).
class L1Gradient {
public:
    /// Starts at w_0 = l1 start / kStartWeight.
    ///
    /// Domain  y from to_responses(., l1), one a row; start has one entry a column, and
    ///         absolute values that add up to kStartWeight at most.
    L1Gradient(UnitDesign& design, const std::vector<std::int32_t>& y, double l1,
               std::vector<std::int64_t> start);

    /// w <- (1 - gamma) w + gamma (+-l1 e_j), gamma = 2 / (t + 2).  At most kMaxSteps times.
    void step(std::size_t j, bool positive);

    /// w_j <- 0.
    void drop(std::size_t j);

    /// g_j = numerator(j) * scale() exactly, but for the rounding of scale().
    int128 numerator(std::size_t j) const {
        return sums_[j] * kAlign - int128{total_} * crossprod_[j];
    }

    /// l1 / denominator().
    double scale() const;

    /// numerator(j) / denominator() is g_j / l1; a power of two times W, exact.
    double denominator() const;

    /// g, rounded.
    std::vector<double> values() const;

    /// w, rounded.
    std::vector<double> weights() const;

    /// w.g + l1 max |g_j| over the columns in `active`, in units of l1^2: with all columns,
    /// at least f(w) - f(w*) for f half the sum of squares (the Wolfe gap), up to rounding.
    double wolfe_gap(const std::vector<std::uint8_t>& active) const;

    double l1() const { return l1_; }
    std::size_t rows() const { return design_.rows(); }
    std::size_t cols() const { return design_.cols(); }

private:
    /// Brings products of cells to the grid of products of a cell and a response.
    static constexpr int kAlign = 1 << (kResponseBits - kCellBits);

    UnitDesign& design_;
    double l1_;
    std::int64_t steps_ = 0;
    std::int64_t total_ = kStartWeight;    ///< W
    std::vector<std::int64_t> v_;          ///< |v_j| add up to at most W
    std::vector<int128> sums_;             ///< X'X v
    std::vector<std::int64_t> crossprod_;  ///< X'y
};

}  // namespace dpreg
