#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "dpreg/error.hpp"
#include "dpreg/noise/assignment.hpp"

namespace dpreg {

/// Which records belong to which unit: unit u has rows[offsets[u]], ..., rows[offsets[u + 1] - 1].
/// Without offsets each record is a unit.
struct Grouping {
    std::vector<std::size_t> offsets;
    std::vector<std::size_t> rows;
};

/// Throws InvalidArgument unless `offsets` ascends from 0 to `end`, or is empty.
inline void check_offsets(const std::vector<std::size_t>& offsets, std::size_t end) {
    require(offsets.empty() || (offsets.front() == 0 && offsets.back() == end &&
                                std::is_sorted(offsets.begin(), offsets.end())),
            "the offsets of units must ascend from 0 to the number of their rows");
}

/// Throws InvalidArgument unless `units` are of a table with so many records.
inline void check_units(const Grouping& units, std::size_t records) {
    check_offsets(units.offsets, units.rows.size());
    for (const std::size_t row : units.rows) require(row < records, "no such row");
}

/// Throws InvalidArgument unless all members of `assignment` are such units.
inline void check_members(const Assignment& assignment, const Grouping& units,
                          std::size_t records) {
    check_units(units, records);
    const std::size_t count = units.offsets.empty() ? records : units.offsets.size() - 1;
    for (const std::size_t unit : assignment.members) require(unit < count, "no such unit");
}

/// Calls visit(row, unit) for the rows of the units of model g, in their order.
template <class Visit>
void visit_rows(const Assignment& assignment, const Grouping& units, std::size_t g,
                const Visit& visit) {
    for (auto k = assignment.offsets[g]; k < assignment.offsets[g + 1]; ++k) {
        const auto unit = assignment.members[k];
        if (units.offsets.empty()) {
            visit(unit, unit);
            continue;
        }
        for (auto r = units.offsets[unit]; r < units.offsets[unit + 1]; ++r) {
            visit(units.rows[r], unit);
        }
    }
}

}  // namespace dpreg
