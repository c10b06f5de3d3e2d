#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "dpreg/error.hpp"
#include "dpreg/noise/samplers.hpp"

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

/// Columns that are chosen or left together, as the dummies of a factor: each group begins at one
/// of `starts`, and ends where the next one begins.  All public.
///
/// The score of a group is the largest of its columns.  If adding a unit changes the scores of all
/// columns by amounts in [a, b], it changes those of all groups by amounts in [a, b] too: with j
/// the largest before, the maximum is at least s_j + a, and no column exceeds the maximum before
/// by more than b.  So the range of scores of columns is that of scores of groups.
class ColumnGroups {
public:
    /// Throws InvalidArgument unless `starts` ascends strictly from 0 and stays below `columns`.
    ColumnGroups(std::vector<std::size_t> starts, std::size_t columns)
        : starts_(std::move(starts)), columns_(columns) {
        const bool ascending = std::adjacent_find(starts_.begin(), starts_.end(),
                                                  std::greater_equal<>()) == starts_.end();
        const bool inside = starts_.empty() ? columns == 0 : starts_.back() < columns;
        require(ascending && inside && (starts_.empty() || starts_.front() == 0),
                "groups must ascend from 0 and stay below the number of columns");
    }

    /// Each column by itself.
    static ColumnGroups singles(std::size_t columns) {
        std::vector<std::size_t> starts(columns);
        for (std::size_t j = 0; j < columns; ++j) starts[j] = j;
        return {std::move(starts), columns};
    }

    std::size_t size() const { return starts_.size(); }
    std::size_t begin(std::size_t group) const { return starts_[group]; }
    std::size_t end(std::size_t group) const {
        return group + 1 < starts_.size() ? starts_[group + 1] : columns_;
    }

    /// The largest score of the columns of `group`, by `score` of a column.
    template <class Score>
    auto largest(std::size_t group, const Score& score) const {
        auto best = score(begin(group));
        for (std::size_t j = begin(group) + 1; j < end(group); ++j) best = std::max(best, score(j));
        return best;
    }

private:
    std::vector<std::size_t> starts_;
    std::size_t columns_;
};

}  // namespace dpreg
