// Pairs of rows counted in a table, where columns take few values.
#pragma once

#include <cstdint>
#include <optional>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Concordant less discordant pairs, as KendallPairs::balance counts them; nothing if a column
/// takes more than 256 values, or if there are too few rows for a table to be worth it.
///
/// Cost  O(n + levels of x times levels of y).
std::optional<std::int64_t> balance_by_table(const VectorView& x, const VectorView& y);

}  // namespace dpreg
