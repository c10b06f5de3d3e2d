#include "dpreg/stats/side_by_side.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/linalg/simd.hpp"

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

/// Rows `kPanel` at a time, of columns without gaps of which there are as many at least.
struct WritePanels {
    template <class Lanes>
    DPREG_INLINE static void run(const std::vector<VectorView>& columns, std::size_t count,
                                 double* to, bool* finite) {
        const std::size_t width = columns.size();
        for (std::size_t i = 0; i < count; i += kPanel, to += kPanel * width) {
            Lanes check = Lanes::of(0.0);
            for (std::size_t from = 0; from < width; from += Lanes::kSize) {
                // The last ones overlap those before.
                const std::size_t j = std::min(from, width - Lanes::kSize);
                std::array<Lanes, Lanes::kSize> part;
                for (std::size_t k = 0; k < part.size(); ++k) {
                    part[k] = Lanes::load(columns[j + k].data + i);
                    check += part[k] * 0.0;
                }
                write_columns(part, to + j, width);
            }
            for (std::size_t r = 0; r < kPanel; ++r) finite[i + r] = check[r] == 0.0;
        }
    }
};

}  // namespace

void side_by_side(const std::vector<VectorView>& columns, std::size_t count, double* rows,
                  bool* finite) {
    const std::size_t width = columns.size();
    for (const auto& column : columns) require(column.size == count, "columns must be as long");
    const bool dense = std::all_of(columns.begin(), columns.end(),
                                   [](const VectorView& column) { return column.stride == 1; });
    std::size_t done = 0;
    if (dense && width >= kPanel) {
        constexpr LanesKernel<WritePanels> kernel;
        done = count / kPanel * kPanel;
        kernel(columns, done, rows, finite);
    }
    std::fill(finite + done, finite + count, true);
    for (std::size_t first = done; first < count; first += kRows) {
        const std::size_t last = std::min(count, first + kRows);
        std::size_t j = 0;
        for (; j + kTogether <= width; j += kTogether) {
            write<kTogether>(&columns[j], first, last, rows + j, width, finite);
        }
        for (; j < width; ++j) write<1>(&columns[j], first, last, rows + j, width, finite);
    }
}

}  // namespace dpreg
