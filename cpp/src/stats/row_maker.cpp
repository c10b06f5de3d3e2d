#include "row_maker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "row_steps.hpp"

namespace dpreg {
namespace {

/// Below this limit, squares are rounded by so much that they do not tell which norms are short.
constexpr double kLeastShort = 0x1p-500;

}  // namespace

RowMaker::Room::Room(const RowMaker& maker)
    : cells(kMakeRows * maker.used()),
      used(maker.used()),
      z(kMakeRows * maker.stride(), 0.0),
      steps(kMakeRows * maker.stride(), 0) {}

RowMaker::RowMaker(const MatrixView& x, const VectorView& y, const Standardisation& how)
    : x_(x),
      y_(y),
      how_(how),
      width_(row_width(how)),
      regressors_(width_ - (how.response_limit > 0.0 ? 1 : 0)),
      limit_(row_limit(how)),
      steps_per_unit_(kRowSteps / limit_),
      most_square_(row_norm(width_) * row_norm(width_)),
      short_square_(how.row_limit < kLeastShort ? -1.0
                                                : (1 - 0x1p-40) * how.row_limit * how.row_limit) {
    check_public(x, y, how);
    for (std::size_t j = 0; j < used(); ++j) {
        limited_ = limited_ || how.low[j] > -HUGE_VAL || how.high[j] < HUGE_VAL;
    }
    for (std::size_t j = 0; j < used() && how.columns[j] < x.cols; ++j) {
        if (how.columns[j] != how.columns[0] + j) break;
        adjacent_ = j + 1;
    }
    if (x.col_stride != 1 || adjacent_ < kPanel) adjacent_ = 0;
    map_ = row_map(how);
}

void RowMaker::make(const std::size_t* records, std::size_t count, const RowPlaces& to,
                    std::size_t at, Room& room) const {
    constexpr LanesKernel<Steps> kernel;
    const Steps steps{*this, to, room};
    // Where a slope is not finite a cell of 0 would add something: no row beside another.
    const std::size_t most = map_.finite ? kMakeRows : 1;
    for (std::size_t done = 0; done < count; done += most) {
        kernel(steps, records + done, std::min(most, count - done), at + done);
    }
}

void RowMaker::make_from(std::size_t first, std::size_t count, const RowPlaces& to, std::size_t at,
                         Room& room) const {
    std::array<std::size_t, kMakeRows> records{};
    for (std::size_t done = 0; done < count; done += kMakeRows) {
        std::iota(records.begin(), records.end(), first + done);
        make(records.data(), std::min(kMakeRows, count - done), to, at + done, room);
    }
}

}  // namespace dpreg
