#include "dpreg/stats/quantised_rows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "dpreg/error.hpp"
#include "row_maker.hpp"
#include "row_residuals.hpp"

namespace dpreg {
namespace {

/// Room for the numbers of rows, all of which is written to.
struct Numbers {
    Numbers(std::size_t cells, std::size_t rows, std::size_t weighed)
        : q(new std::int16_t[cells]),
          y(new double[rows]),
          weights(new double[weighed]),
          given(new double[weighed]) {}

    std::unique_ptr<std::int16_t[]> q;
    std::unique_ptr<double[]> y, weights, given;
};

QuantisedRows::Parts made_rows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                               const Grouping& units) {
    const RowMaker maker(x, y, how);
    const bool grouped = !units.offsets.empty();
    const std::size_t count = grouped ? units.rows.size() : x.rows;
    check_units(units, x.rows);
    const std::size_t cells = count * maker.stride();
    const std::size_t weighed = maker.shrunk() ? 0 : count;
    const auto held = std::make_shared<Numbers>(cells, count, weighed);
    const RowPlaces to{held->q.get(), held->y.get(), held->weights.get(), held->given.get()};
    const auto make = [&](std::size_t begin, std::size_t end) {
        RowMaker::Room room(maker);
        if (grouped) {
            maker.make(units.rows.data() + begin, end - begin, to, begin, room);
        } else {
            maker.make_from(begin, end - begin, to, begin, room);
        }
    };
    parallel_ranges(count, make, kRowsOfThread);
    return {maker.width(), maker.limit(),         {to.q, cells},       {to.y, count}, units.offsets,
            how.loss,      {to.weights, weighed}, {to.given, weighed}, held};
}

}  // namespace

double row_norm(std::size_t width) {
    return kRowSteps + 0.5 * std::sqrt(static_cast<double>(width)) + 1e-6;
}

double gram_sensitivity(std::size_t width) { return row_norm(width) * row_norm(width); }

QuantisedRows::QuantisedRows(const MatrixView& x, const VectorView& y, const Standardisation& how,
                             const Grouping& units)
    : QuantisedRows(made_rows(x, y, how, units)) {}

QuantisedRows::QuantisedRows(Parts parts)
    : parts_(std::move(parts)), stride_(padded(parts_.width)) {
    const std::size_t weighed = parts_.loss.kind == LossKind::squared ? 0 : rows();
    require(parts_.weights.size == weighed && parts_.given.size == weighed,
            "rows of another loss than the squared one must have weights");
    check_loss(parts_.loss);
    require(parts_.q.size == rows() * stride_, "rows must have `width` entries, padded");
    check_offsets(parts_.offsets, rows());
}

Block QuantisedRows::block(std::size_t first, std::size_t count) const {
    const bool shrunk = parts_.weights.size == 0;
    return {parts_.q.data + first * stride_,
            parts_.y.data + first,
            count,
            stride_,
            limit() / kRowSteps,
            &parts_.loss,
            shrunk ? nullptr : parts_.weights.data + first,
            shrunk ? nullptr : parts_.given.data + first};
}

Block QuantisedRows::block_of(std::size_t unit) const {
    const std::size_t first = parts_.offsets[unit];
    return block(first, parts_.offsets[unit + 1] - first);
}

std::vector<std::int64_t> QuantisedRows::gram() const {
    return sum_of_products(rows(), width(),
                           [&](std::size_t first, std::size_t, const std::int16_t*) {
                               return parts_.q.data + first * stride_;
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
