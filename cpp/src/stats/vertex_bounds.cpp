#include "dpreg/stats/vertex_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

/// Going through this many slots costs about as much as a proposal.
constexpr std::size_t kSlotsPerProposal = 32;

/// Columns that are listed may be proposed at most this often for each time that some column must
/// be drawn.
constexpr double kListedShare = 0.1;
/// No fixed group allows a larger log-weight.
constexpr double kMostListed = 16.0;

/// The largest log-weight that a reach allows: scores are `numerator` / (4 W 2^30) times epsilon.
double log_weight_at(std::int64_t reach, double epsilon) {
    return epsilon * std::ldexp(static_cast<double>(reach), -(kCellBits + kResponseBits + 2));
}

/// Largest reaches of the fixed groups, each an eighth more than the one before.
std::vector<std::int64_t> reaches_from(double epsilon) {
    const double first = std::ldexp(1.0 / epsilon, kCellBits + kResponseBits + 2);
    auto reach = static_cast<std::int64_t>(std::clamp(first, 8.0, 0x1p62));
    std::vector<std::int64_t> reaches;
    for (; reach < INT64_MAX / 9 * 8; reach += reach / 8) reaches.push_back(reach);
    // What no reach of a column exceeds: fewer than 2^32 rows, 2^31 each.
    reaches.push_back(INT64_MAX);
    return reaches;
}

}  // namespace

VertexBounds::VertexBounds(L1Gradient& gradient, double epsilon)
    : gradient_(gradient), total_(gradient.total()) {
    require(epsilon > 0.0, "epsilon must be greater than 0");
    for (const std::int64_t reach : reaches_from(epsilon)) fixed_.push_back({reach, {}});
    for (std::size_t j = 0; j < gradient.cols(); ++j) {
        if (!gradient.reaches_beyond(j, fixed_[0].reach)) continue;
        const auto group = std::lower_bound(
            fixed_.begin(), fixed_.end(), gradient.reach(j),
            [](const Fixed& fixed, std::int64_t reach) { return fixed.reach < reach; });
        group->columns.push_back(static_cast<std::uint32_t>(j));
    }
    track(unlist(epsilon));
}

/// Takes the columns with the most reach out of the fixed groups, until what is left there is
/// proposed seldom enough; drops empty groups.
std::vector<std::uint32_t> VertexBounds::unlist(double epsilon) {
    // Of +e_j and -e_j one has a score of at least 0, so all weights add up to at least `cols`.
    const double most = kListedShare * static_cast<double>(gradient_.cols());
    double proposed = 0.0;
    std::size_t kept = 1;
    for (; kept < fixed_.size(); ++kept) {
        const double log_weight = log_weight_at(fixed_[kept].reach, epsilon);
        if (log_weight > kMostListed) break;
        const auto count = static_cast<double>(fixed_[kept].columns.size());
        proposed += 2.0 * count * std::exp(log_weight);
        if (proposed > most) break;
    }
    std::vector<std::uint32_t> columns;
    for (std::size_t g = kept; g < fixed_.size(); ++g) {
        columns.insert(columns.end(), fixed_[g].columns.begin(), fixed_[g].columns.end());
    }
    fixed_.resize(kept);
    const auto empty = [](const Fixed& fixed) { return fixed.columns.empty(); };
    fixed_.erase(std::remove_if(fixed_.begin() + 1, fixed_.end(), empty), fixed_.end());
    std::sort(columns.begin(), columns.end());
    return columns;
}

VertexBounds::VertexBounds(L1Gradient& gradient, const std::vector<std::uint8_t>& active)
    : gradient_(gradient), total_(gradient.total()) {
    std::vector<std::uint32_t> columns;
    for (std::size_t j = 0; j < active.size(); ++j) {
        if (active[j] != 0) columns.push_back(static_cast<std::uint32_t>(j));
    }
    track(std::move(columns));
}

void VertexBounds::track(std::vector<std::uint32_t> columns) {
    gradient_.track(std::move(columns));
    version_ = gradient_.version();
    const std::size_t slots = gradient_.tracked().size();
    run_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(slots)));
    removed_.assign(slots, 0);
    tracked_.assign((slots + run_ - 1) / run_, {0, 0, kNone, 0});
    for (std::size_t slot = 0; slot < slots; ++slot) {
        auto& group = tracked_[slot / run_];
        group.crossprod = std::max(group.crossprod, std::abs(gradient_.tracked_crossprod(slot)));
    }
    for (std::size_t g = fixed_.size(); g < size(); ++g) refresh(g);
}

std::size_t VertexBounds::count(std::size_t g) const {
    if (is_tracked(g)) return std::min(run_, gradient_.tracked().size() - first_slot(g));
    return g == 0 ? gradient_.cols() : fixed_[g].columns.size();
}

std::size_t VertexBounds::column(std::size_t g, std::size_t k) const {
    if (is_tracked(g)) return gradient_.tracked()[first_slot(g) + k];
    return g == 0 ? k : fixed_[g].columns[k];
}

int128 VertexBounds::bound(std::size_t g) const {
    if (!is_tracked(g)) return int128{total_} * fixed_[g].reach;
    const auto& group = tracked_[g - fixed_.size()];
    return group.largest == kNone ? -1 : group.lift + int128{total_} * group.crossprod;
}

void VertexBounds::check_current(std::uint64_t version) const {
    require(version == gradient_.version(),
            "bounds must follow each step and drop of their gradient, and be the last made for it");
}

std::optional<int128> VertexBounds::numerator(std::size_t g, std::size_t k) {
    check_current(version_);
    if (is_tracked(g)) {
        const std::size_t slot = first_slot(g) + k;
        if (removed_[slot] != 0) return {};
        return gradient_.tracked_numerator(slot);
    }
    const std::size_t j = column(g, k);
    if (g == 0 && gradient_.reaches_beyond(j, fixed_[0].reach)) return {};
    return gradient_.numerator(j);
}

int128 VertexBounds::size_at(std::size_t slot) const {
    const int128 numerator = gradient_.tracked_numerator(slot);
    return numerator < 0 ? -numerator : numerator;
}

void VertexBounds::follow(std::int64_t total, const std::vector<std::uint32_t>& touched) {
    // If it is refused they stay out of date: earlier touched slots are no longer known.
    check_current(version_ + 1);
    ++version_;
    total_ = total;
    for (const std::uint32_t slot : touched) {
        require(slot < removed_.size(), "only tracked columns have slots");
        if (removed_[slot] != 0) continue;
        auto& group = tracked_[slot / run_];
        const int128 lift = size_at(slot) - int128{total_} * group.crossprod;
        if (lift <= group.lift) continue;
        group.lift = lift;
        group.largest = slot;
    }
}

void VertexBounds::remove(std::size_t j) {
    check_current(version_);
    require(j < gradient_.cols() && gradient_.tracked().contains(j),
            "only tracked columns can be removed");
    const std::size_t slot = gradient_.tracked().slot(j);
    removed_[slot] = 1;
    const std::size_t g = fixed_.size() + slot / run_;
    if (tracked_[slot / run_].largest == slot) refresh(g);
}

void VertexBounds::refresh(std::size_t g) {
    check_current(version_);
    auto& group = tracked_[g - fixed_.size()];
    int128 largest = -1;
    group.largest = kNone;
    group.rejections = 0;
    for (std::size_t slot = first_slot(g); slot < first_slot(g) + count(g); ++slot) {
        if (removed_[slot] != 0 || size_at(slot) <= largest) continue;
        largest = size_at(slot);
        group.largest = slot;
    }
    group.lift = largest - int128{total_} * group.crossprod;
}

void VertexBounds::reject(std::size_t g) {
    if (!is_tracked(g)) return;
    auto& rejections = tracked_[g - fixed_.size()].rejections;
    if (++rejections * kSlotsPerProposal >= count(g)) refresh(g);
}

VertexBounds::Attained VertexBounds::attain(int128 slack) {
    check_current(version_);
    if (tracked_.empty()) return {0, -1};
    for (;;) {
        std::size_t top = fixed_.size();
        for (std::size_t g = top + 1; g < size(); ++g) {
            if (bound(g) > bound(top)) top = g;
        }
        const std::size_t slot = tracked_[top - fixed_.size()].largest;
        if (slot == kNone) return {top, -1};
        const int128 attained = size_at(slot);
        if (bound(top) - attained <= slack) return {top, attained};
        refresh(top);
    }
}

}  // namespace dpreg
