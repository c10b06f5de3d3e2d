#include "dpreg/stats/clipped_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "dpreg/error.hpp"
#include "dpreg/parallel.hpp"

namespace dpreg {
namespace {

constexpr int kCellBits = 15;
constexpr int kScoreBits = 20;
constexpr std::size_t kRowsInCache = 64;

/// (value - centre) / half in [-1, 1], in units of 2^-kCellBits.
std::int64_t clipped_cell(double value, double centre, double half) {
    const double scaled = (value - centre) / half;
    if (std::isnan(scaled)) return 0;
    return std::llrint(std::ldexp(std::clamp(scaled, -1.0, 1.0), kCellBits));
}

void check(const MatrixView& x, const VectorView& y, const ProductBounds& bounds) {
    require(x.rows == y.size, "x and y must have the same number of rows");
    require(bounds.x_centres.size() == x.cols && bounds.x_halves.size() == x.cols,
            "there must be bounds for each column");
    bool valid =
        std::isfinite(bounds.y_centre) && bounds.y_half > 0 && std::isfinite(bounds.y_half);
    for (std::size_t j = 0; j < x.cols; ++j) {
        valid = valid && std::isfinite(bounds.x_centres[j]) && bounds.x_halves[j] > 0 &&
                std::isfinite(bounds.x_halves[j]);
    }
    require(valid, "bounds must be finite, the lower one below the upper one");
}

}  // namespace

std::vector<std::int64_t> clipped_products(const MatrixView& x, const VectorView& y,
                                           const ProductBounds& bounds) {
    check(x, y, bounds);
    std::vector<std::int64_t> result(x.cols);
    parallel_ranges(x.cols, [&](std::size_t begin, std::size_t end) {
        // Products are below 2^30 in size, so sums of 2^32 of them fit.
        std::vector<std::int64_t> sums(end - begin, 0);
        std::vector<std::int64_t> response(kRowsInCache);
        for (std::size_t first = 0; first < x.rows; first += kRowsInCache) {
            const std::size_t last = std::min(x.rows, first + kRowsInCache);
            for (std::size_t i = first; i < last; ++i) {
                response[i - first] = clipped_cell(y[i], bounds.y_centre, bounds.y_half);
            }
            const auto add = [&](std::size_t i, std::size_t j) {
                sums[j - begin] += response[i - first] *
                                   clipped_cell(x(i, j), bounds.x_centres[j], bounds.x_halves[j]);
            };
            if (x.row_stride >= x.col_stride) {
                for (std::size_t i = first; i < last; ++i) {
                    for (std::size_t j = begin; j < end; ++j) add(i, j);
                }
            } else {
                for (std::size_t j = begin; j < end; ++j) {
                    for (std::size_t i = first; i < last; ++i) add(i, j);
                }
            }
        }
        std::copy(sums.begin(), sums.end(), result.begin() + static_cast<std::ptrdiff_t>(begin));
    });
    return result;
}

std::vector<double> clipped_scores(const std::vector<std::int64_t>& sums) {
    std::vector<double> scores;
    for (const std::int64_t sum : sums) {
        const std::int64_t whole = std::abs(sum) >> (2 * kCellBits - kScoreBits);
        scores.push_back(std::ldexp(static_cast<double>(whole), -kScoreBits));
    }
    return scores;
}

}  // namespace dpreg
