// Products of rows of 16-bit integers, exact: pairs of products are added in 32 bits, groups of
// pairs in 64.
//
// Rows here are row-major, padded with zeros to `stride` entries, a multiple of kPanel.  They are
// no longer than row_norm: sums of products within 32 bits stay there because a part of a row is
// no longer than the row, and a product of two entries is at most half of its squared length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/linalg/kernels.hpp"

namespace dpreg {

using Shorts = std::vector<std::int16_t>;
using Totals = std::vector<std::int64_t>;

/// Rows that are worked on together: whole lanes, and whole groups of pairs.
inline constexpr std::size_t kShortRows = 48;
/// A multiplier of rows is at most this.
inline constexpr int kMostMultiplier = 1 << 14;

/// Coefficients in steps of 2^-26 of a power of two above their norm.
struct ShortTheta {
    Shorts high;  ///< an entry is (high 2^12 + low) steps
    Shorts low;
    double step;  ///< not a number if a coefficient is not finite
};

/// Domain  any theta; padded with zeros to `stride`.
ShortTheta short_theta(const std::vector<double>& theta, std::size_t stride);

/// q'theta in steps and |q|^2 of `rows` rows, at most kShortRows; exact.
void short_dots(const std::int16_t* q, std::size_t stride, std::size_t rows,
                const ShortTheta& theta, double* dots, double* squares);

/// totals += sum of p_i q_i over `rows` rows, at most kShortRows, |p_i| <= kMostMultiplier.
/// `p` has room for kShortRows.
void add_short_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                         const std::int16_t* p, Totals& totals);

/// As that, |p_i| <= kMostMultiplier / 2 or |p_i| |q_i| < 2^27: fewer steps.
void add_half_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                        const std::int16_t* p, Totals& totals);

/// Sum of q q' over rows added block by block.
class ShortGram {
public:
    explicit ShortGram(std::size_t stride);

    void add(const std::int16_t* q, std::size_t rows);

    /// Adds the entries on and above the diagonal to `gram`, width x width.
    void add_to(std::vector<std::int64_t>& gram, std::size_t width) const;

private:
    std::size_t stride_;
    std::size_t groups_;                 ///< that are packed at a time
    std::vector<std::uint32_t> packed_;  ///< pairs of rows, entry by entry
    Totals squares_;
    Totals products_;  ///< nothing on the diagonal
};

}  // namespace dpreg
