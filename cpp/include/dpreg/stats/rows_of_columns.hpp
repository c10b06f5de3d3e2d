#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/matrix.hpp"

namespace dpreg {

/// Copies columns, all of one length, to the rows x columns.size() numbers at `to`, row by row, and
/// says which rows have finite numbers only.
///
/// Domain   total.
void rows_of_columns(const std::vector<VectorView>& columns, double* to, bool* finite,
                     std::size_t threads);

}  // namespace dpreg
