#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dpreg/int128.hpp"
#include "dpreg/stats/l1_gradient.hpp"

namespace dpreg {

/// Groups of columns, each with an upper bound on |numerator| that stays valid from step to step.
///
/// Groups are fixed or tracked.  The bound of a fixed group is W R, R the largest
/// `L1Gradient::reach` that its columns may have: what no point of the ball exceeds.  Tracked
/// columns lie in groups of about the square root of their number, with bounds P + W C, C the
/// largest |X'y| of the group: while W grows, |4 X'X v - W X'y| grows by no more than that, so a
/// step can lift P only by the columns that it touches (vertex_bounds.md).
///
/// A gradient tracks the columns of the last bounds that were made for it.
///
/// Throws   InvalidArgument where bounds are used that have not followed each step and drop of
///          their gradient, or are not the last that were made for it.
///
/// Cost  a step takes the touched slots of the tracked columns.
class VertexBounds {
public:
    /// Tracks the columns with the most reach.  The first group is of those to which no point of
    /// the ball gives a log-weight above 1 in draws with this epsilon or a smaller one; what lies
    /// between is listed in fixed groups by reach, where that makes few proposals more.
    VertexBounds(L1Gradient& gradient, double epsilon);

    /// Tracks all active columns.
    VertexBounds(L1Gradient& gradient, const std::vector<std::uint8_t>& active);

    /// How many groups there are, the fixed ones first.
    std::size_t size() const { return fixed_.size() + tracked_.size(); }
    std::size_t fixed() const { return fixed_.size(); }

    /// How many columns group g has.
    std::size_t count(std::size_t g) const;

    /// The k-th column of group g.
    std::size_t column(std::size_t g, std::size_t k) const;

    /// |numerator| is at most this for the columns of group g; -1 when all were removed.
    int128 bound(std::size_t g) const;

    /// The numerator of the k-th column of group g; nothing when it was removed or has a
    /// group of its own beside this one.
    std::optional<int128> numerator(std::size_t g, std::size_t k);

    /// To be called after each step or drop, with the state of the gradient.
    void follow(std::int64_t total, const std::vector<std::uint32_t>& touched);

    /// Takes a tracked column out for good.
    void remove(std::size_t j);

    /// Brings the bound of a tracked group down to the largest |numerator| in it.
    void refresh(std::size_t g);

    /// Notes that a candidate of group g was rejected, and refreshes a tracked group once
    /// its rejections have cost about as much as that.
    void reject(std::size_t g);

    /// Of a tracked column: its group, and its |numerator|.
    struct Attained {
        std::size_t group;
        int128 size;
    };

    /// Refreshes until some |numerator| is within `slack` of the largest bound of all tracked
    /// groups, in the first group with that bound.  Its size is -1 if no column is tracked.
    Attained attain(int128 slack);

private:
    /// Columns with a reach of at most this; those of the first group are not listed.
    struct Fixed {
        std::int64_t reach;
        std::vector<std::uint32_t> columns;
    };

    /// Bound P + W C of a run of slots.
    struct Tracked {
        int128 lift;             ///< P
        std::int64_t crossprod;  ///< C
        std::size_t largest;  ///< slot with the largest |numerator| when last refreshed or lifted
        std::size_t rejections;  ///< since last refreshed
    };

    static constexpr std::size_t kNone = SIZE_MAX;

    /// Throws unless bounds of this version are those of the gradient now.
    void check_current(std::uint64_t version) const;
    bool is_tracked(std::size_t g) const { return g >= fixed_.size(); }
    std::vector<std::uint32_t> unlist(double epsilon);
    void track(std::vector<std::uint32_t> columns);
    std::size_t first_slot(std::size_t g) const { return (g - fixed_.size()) * run_; }
    int128 size_at(std::size_t slot) const;

    L1Gradient& gradient_;
    std::uint64_t version_ = 0;  ///< of the gradient, when they followed it
    std::int64_t total_;         ///< W
    std::vector<Fixed> fixed_;
    std::vector<Tracked> tracked_;
    std::size_t run_ = 1;  ///< slots in a tracked group
    std::vector<std::uint8_t> removed_;
};

}  // namespace dpreg
