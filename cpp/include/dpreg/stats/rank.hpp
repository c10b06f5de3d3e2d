#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// The rank of NaN, which is in no order.
inline constexpr std::uint32_t kNoRank = UINT32_MAX;

/// One column as its order alone: 0 for the smallest value, equal values sharing a rank,
/// no rank left out.
struct RankedColumn {
    std::vector<std::uint32_t> ranks;   ///< one a row; kNoRank for NaN
    std::vector<std::uint32_t> starts;  ///< how many values rank below r, r = 0, ..., levels;
                                        ///< empty when no two values are equal
    std::size_t levels = 0;             ///< distinct values
    std::size_t present = 0;            ///< values that are not NaN
    std::uint64_t tied_pairs = 0;       ///< pairs of equal values, NaN not counted

    bool tied() const { return levels < present; }
};

/// The rows of `x` by ascending value, those with NaN left out; equal values in the order of
/// their rows.
///
/// Domain   total: infinities are the ends of the order, -0 equals 0.  Below 2^32 - 1 rows,
///          the width of an index: longer columns do not arise in memory.
/// Cost     O(n): at most four passes of a radix sort, and O(t log t) for runs of t values that
///          agree on their first 44 significant bits; 16 bytes of scratch a row.
std::vector<std::uint32_t> ascending_order(const VectorView& x);

/// Ranks of one column; domain and cost as of `ascending_order`.
RankedColumn rank_column(const VectorView& x);

}  // namespace dpreg
