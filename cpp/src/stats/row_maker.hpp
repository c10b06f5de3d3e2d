// Records made into quantised rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dpreg/linalg/simd.hpp"
#include "dpreg/matrix.hpp"
#include "dpreg/stats/quantised_rows.hpp"

namespace dpreg {

/// Records that are made into rows together.
inline constexpr std::size_t kMakeRows = kPanel;

/// A public map of records, its rows padded to whole lanes.
struct RowMap {
    std::vector<double> base;    ///< the row of a record of zeros
    std::vector<double> slopes;  ///< what one more of each column adds: lanes, columns, lane
    bool finite = true;          ///< a cell of 0 adds 0
};

/// Where rows go, one after another: q, with padding; the response; with another loss than the
/// squared one, weights and given sums.
struct RowPlaces {
    std::int16_t* q;
    double* y;
    double* weights;
    double* given;
};

/// Makes rows of records; each depends on its own record only.
class RowMaker {
public:
    /// Throws Error if `how` does not fit `x` and `y`, all of which must outlive this.
    RowMaker(const MatrixView& x, const VectorView& y, const Standardisation& how);

    std::size_t width() const { return width_; }
    std::size_t stride() const { return padded(width_); }
    double limit() const { return limit_; }
    /// The loss is the squared one: responses are shrunk like their rows.
    bool shrunk() const { return how_.loss.kind == LossKind::squared; }

    /// Memory for the work of one thread.
    struct Room {
        explicit Room(const RowMaker& maker);

        std::vector<double> cells;        ///< columns x kMakeRows: in limits
        std::vector<std::uint32_t> used;  ///< columns with a cell that is not 0
        std::vector<double> z;            ///< padded row x kMakeRows
        std::vector<std::int16_t> steps;  ///< of it
    };

    /// Makes the rows of `count` records, which go where rows from `at` on do.
    void make(const std::size_t* records, std::size_t count, const RowPlaces& to, std::size_t at,
              Room& room) const;

    /// As that, of the records from `first` on.
    void make_from(std::size_t first, std::size_t count, const RowPlaces& to, std::size_t at,
                   Room& room) const;

private:
    struct Steps;

    std::size_t used() const { return how_.columns.size(); }

    const MatrixView& x_;
    const VectorView& y_;
    const Standardisation& how_;
    std::size_t width_;
    std::size_t regressors_;
    double limit_;
    double steps_per_unit_;
    // Not a constant: between constants gcc compares and chooses, in place of one instruction.
    double most_steps_ = kRowSteps;
    double most_square_;
    double short_square_;       ///< squares up to this are of norms below the limit; -1: none
    bool limited_ = false;      ///< there are limits of cells
    std::size_t adjacent_ = 0;  ///< so many columns, the first, lie next to one another
    RowMap map_;
};

}  // namespace dpreg
