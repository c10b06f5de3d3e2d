#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/stats/unit_design.hpp"

namespace dpreg {

/// Entries of X'X v that are kept up to date while single entries of v change.
///
/// Cost  a change of v_j takes the products of column j with the tracked columns.  They are kept
///       where computing them takes much longer than going through them, up to
///       `UnitDesign::products_to_keep()` in all.
class TrackedColumns {
public:
    /// Domain  sums[slot] = (X'X v)_j for the column j with this slot.
    TrackedColumns(const UnitDesign& design, ColumnSet columns, std::vector<int128> sums);
    TrackedColumns(const TrackedColumns&) = delete;
    TrackedColumns& operator=(const TrackedColumns&) = delete;

    const ColumnSet& columns() const { return products_.columns; }

    /// (X'X v)_j for the column j with this slot.
    int128 sum(std::size_t slot) const { return sums_[slot]; }

    /// v_j += change.  |change| < 2^61.
    void add(std::size_t j, std::int64_t change);

    /// The slots of the sums that the last `add` may have changed.
    const std::vector<std::uint32_t>& touched() const { return last_->slots; }

private:
    /// The products of a column that are not 0, by slot.
    struct GramRow {
        std::vector<std::uint32_t> slots;
        std::vector<std::int64_t> products;
    };

    const GramRow& gram_row(std::size_t j);

    const UnitDesign& design_;
    ColumnProducts products_;
    std::vector<int128> sums_;
    GramRow row_;  ///< of the last column whose row is not kept
    std::unordered_map<std::size_t, GramRow> kept_;
    std::size_t room_;  ///< products that may still be kept
    const GramRow* last_ = &row_;
};

}  // namespace dpreg
