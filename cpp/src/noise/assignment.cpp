#include "dpreg/noise/assignment.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "dpreg/error.hpp"
#include "dpreg/noise/samplers.hpp"

namespace dpreg {
namespace {

std::size_t index_below(std::size_t bound, BitSource& bits) {
    return static_cast<std::size_t>(uniform_below(std::uint64_t{bound}, bits));
}

/// The first `count` elements of a uniformly random order of 0, ..., size - 1.
std::vector<std::size_t> random_injection(std::size_t count, std::size_t size, BitSource& bits) {
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t other = i + index_below(size - i, bits);
        std::swap(order[i], order[other]);
    }
    order.resize(count);
    return order;
}

}  // namespace

Assignment assign_to_slots(std::size_t n, std::size_t models, std::size_t batch, BitSource& bits) {
    require(models >= 1 && batch >= 1, "models and batch must be at least 1");
    constexpr std::uint64_t kMostSlots = std::min(std::uint64_t{1} << 48, std::uint64_t{SIZE_MAX});
    require(batch <= kMostSlots / models, "models * batch must be below 2^48, and fit a size");
    const std::size_t slots = models * batch;
    // A random order of max(n, slots) places, of which the first `slots` are the slots: what
    // they hold is a random injection of units into slots or of slots into units.
    const auto order = random_injection(slots, std::max(n, slots), bits);
    Assignment result;
    result.members.reserve(std::min(n, slots));
    result.offsets.assign(1, 0);
    for (std::size_t s = 0; s < slots; ++s) {
        if (order[s] < n) result.members.push_back(order[s]);
        if ((s + 1) % batch == 0) result.offsets.push_back(result.members.size());
    }
    return result;
}

Assignment assign_independently(std::size_t n, std::size_t models, BitSource& bits) {
    require(models >= 1, "models must be at least 1");
    std::vector<std::size_t> model_of(n);
    for (auto& model : model_of) model = index_below(models, bits);

    Assignment result;
    result.offsets.assign(models + 1, 0);
    for (const auto model : model_of) ++result.offsets[model + 1];
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    result.members.resize(n);
    auto next = result.offsets;
    // Units enter in a random order, so that their order within a model is random.
    for (const auto unit : random_injection(n, n, bits))
        result.members[next[model_of[unit]]++] = unit;
    return result;
}

}  // namespace dpreg
