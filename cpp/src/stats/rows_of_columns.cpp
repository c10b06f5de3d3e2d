#include "dpreg/stats/rows_of_columns.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

// Rows that are written together: a line of the cache of each column.
constexpr std::size_t kLine = 8;

}  // namespace

void rows_of_columns(const std::vector<VectorView>& columns, double* to, bool* finite,
                     std::size_t threads) {
    const std::size_t width = columns.size();
    const std::size_t rows = width == 0 ? 0 : columns[0].size;
    for (const auto& column : columns) {
        require(column.size == rows, "columns must have the same length");
    }
    parallel_ranges((rows + kLine - 1) / kLine, threads, [&](std::size_t begin, std::size_t end) {
        for (std::size_t line = begin; line < end; ++line) {
            const std::size_t first = line * kLine;
            const std::size_t count = std::min(kLine, rows - first);
            std::array<double, kLine> check{};
            for (std::size_t j = 0; j < width; ++j) {
                const VectorView& column = columns[j];
                double* cell = to + first * width + j;
                for (std::size_t i = 0; i < count; ++i, cell += width) {
                    const double value = column[first + i];
                    check[i] += value * 0.0;
                    *cell = value;
                }
            }
            for (std::size_t i = 0; i < count; ++i) finite[first + i] = check[i] == 0.0;
        }
    });
}

}  // namespace dpreg
