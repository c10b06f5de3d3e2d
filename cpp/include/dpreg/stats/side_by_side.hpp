#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Writes columns side by side to `rows`, row-major, and to `finite` whether all of a row are.
///
/// Domain   columns of `count` entries, any doubles; room for count * columns.size() of them, and
///          for `count` answers.
/// Privacy  none by itself; what is written for a row is a function of its own entries.
void side_by_side(const std::vector<VectorView>& columns, std::size_t count, double* rows,
                  bool* finite);

}  // namespace dpreg
