#include "dpreg/stats/quantised_rows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "dpreg/error.hpp"
#include "dpreg/recycled.hpp"
#include "row_blocks.hpp"
#include "row_maker.hpp"

namespace dpreg {
namespace {

/// Room for numbers, all of which is written to.
template <class T>
class Room {
public:
    explicit Room(std::size_t size) : memory_(recycled(size * sizeof(T))) {}
    T* get() const { return reinterpret_cast<T*>(memory_.get()); }

private:
    Recycled memory_;
};

/// Room for the numbers of rows.
struct Numbers {
    Numbers(std::size_t cells, std::size_t rows, std::size_t weighed)
        : q(cells), y(rows), weights(weighed), given(weighed) {}

    Room<std::int16_t> q;
    Room<double> y, weights, given;
};

}  // namespace

double row_norm(std::size_t width) {
    return kRowSteps + 0.5 * std::sqrt(static_cast<double>(width)) + 1e-6;
}

double gram_sensitivity(std::size_t width) { return row_norm(width) * row_norm(width); }

QuantisedRows::QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                             const Grouping& units)
    : width_(row_width(how)),
      stride_(padded(width_)),
      limit_(row_limit(how)),
      loss_(how.loss),
      offsets_(units.offsets) {
    const RowMaker maker(x, y, how);
    const bool grouped = !offsets_.empty();
    const std::size_t count = grouped ? units.rows.size() : x.rows;
    check_units(units, x.rows);
    const bool shrunk = maker.shrunk();
    const auto held = std::make_shared<Numbers>(count * stride_, count, shrunk ? 0 : count);
    const RowPlaces to{held->q.get(), held->y.get(), held->weights.get(), held->given.get()};
    parallel_ranges(count, [&](std::size_t begin, std::size_t end) {
        RowMaker::Room room(maker);
        if (grouped) {
            maker.make(units.rows.data() + begin, end - begin, to, begin, room);
        } else {
            maker.make_from(begin, end - begin, to, begin, room);
        }
    });
    q_ = {held->q.get(), count * stride_};
    y_ = {held->y.get(), count};
    weights_ = {held->weights.get(), shrunk ? 0 : count};
    given_ = {held->given.get(), shrunk ? 0 : count};
    held_ = held;
}

QuantisedRows::QuantisedRows(Parts parts)
    : width_(parts.width),
      stride_(padded(parts.width)),
      limit_(parts.limit),
      q_(parts.q),
      y_(parts.y),
      loss_(parts.loss),
      weights_(parts.weights),
      given_(parts.given),
      offsets_(std::move(parts.offsets)),
      held_(std::move(parts.held)) {
    const std::size_t weighed = loss_.kind == LossKind::squared ? 0 : y_.size;
    require(weights_.size == weighed && given_.size == weighed,
            "rows of another loss than the squared one must have weights");
    check_loss(loss_);
    require(q_.size == y_.size * stride_, "rows must have `width` entries, padded");
    check_offsets(offsets_, y_.size);
}

Block QuantisedRows::block(std::size_t first, std::size_t count) const {
    const bool shrunk = weights_.size == 0;
    return {q_.data + first * stride_,
            y_.data + first,
            count,
            stride_,
            limit_ / kRowSteps,
            &loss_,
            shrunk ? nullptr : weights_.data + first,
            shrunk ? nullptr : given_.data + first};
}

std::vector<std::int64_t> QuantisedRows::gram() const {
    return sum_of_products(rows(), width_,
                           [&](std::size_t first, std::size_t, const std::int16_t*) {
                               return q_.data + first * stride_;
                           });
}

std::vector<std::int64_t> mapped_gram(const MatrixView& x, const VectorView& y,
                                      const Standardisation& how) {
    const RowMaker maker(x, y, how);
    return sum_of_products(
        x.rows, maker.width(), [&](std::size_t first, std::size_t count, std::int16_t* room) {
            RowMaker::Room scratch(maker);
            std::vector<double> unused(count);
            double* numbers = unused.data();
            maker.make_from(first, count, {room, numbers, numbers, numbers}, 0, scratch);
            return room;
        });
}

}  // namespace dpreg
