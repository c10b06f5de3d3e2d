#include "dpreg/stats/side_by_side.hpp"

#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

// Rows that are written together: with a few dozen columns they stay near the processor.
constexpr std::size_t kRows = 256;
// Columns that are written together, next to one another.
constexpr std::size_t kTogether = 4;

/// Writes `Columns` columns, from `columns`, of rows from `first` to `last`.
template <std::size_t Columns>
void write(const VectorView* columns, std::size_t first, std::size_t last, double* to,
           std::size_t width, bool* finite) {
    for (std::size_t i = first; i < last; ++i) {
        double* row = to + i * width;
        bool all = finite[i];
        for (std::size_t j = 0; j < Columns; ++j) {
            const double value = columns[j][i];
            row[j] = value;
            all = all && std::isfinite(value);
        }
        finite[i] = all;
    }
}

}  // namespace

void side_by_side(const std::vector<VectorView>& columns, std::size_t count, double* rows,
                  bool* finite) {
    const std::size_t width = columns.size();
    for (const auto& column : columns) require(column.size == count, "columns must be as long");
    std::fill(finite, finite + count, true);
    for (std::size_t first = 0; first < count; first += kRows) {
        const std::size_t last = std::min(count, first + kRows);
        std::size_t j = 0;
        for (; j + kTogether <= width; j += kTogether) {
            write<kTogether>(&columns[j], first, last, rows + j, width, finite);
        }
        for (; j < width; ++j) write<1>(&columns[j], first, last, rows + j, width, finite);
    }
}

}  // namespace dpreg
