#include "dpreg/stats/inversions.hpp"

namespace dpreg {
namespace {

// Below this size comparing all pairs is faster than another partition.
constexpr std::size_t kAllPairs = 32;

std::uint64_t compare_all_pairs(const std::uint32_t* v, std::size_t n) {
    std::uint64_t inversions = 0;
    for (std::size_t j = 1; j < n; ++j) {
        std::uint32_t larger_before = 0;
        for (std::size_t i = 0; i < j; ++i) larger_before += v[i] > v[j] ? 1U : 0U;
        inversions += larger_before;
    }
    return inversions;
}

/// Inversions among values that agree above bit `bit`.
std::uint64_t partition_from(std::uint32_t* v, std::size_t n, int bit, std::uint32_t* scratch) {
    if (n <= kAllPairs) return compare_all_pairs(v, n);
    if (bit < 0) return 0;
    std::size_t zeros = 0;
    std::size_t ones = 0;
    std::uint64_t places = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t value = v[i];
        const std::size_t one = (value >> bit) & 1U;
        v[zeros] = value;
        scratch[ones] = value;
        places += i & (one - 1);
        zeros += 1 - one;
        ones += one;
    }
    // A value with bit 0 moves forward by the number of those with bit 1 before it.
    const std::uint64_t moved = places - (zeros == 0 ? 0 : std::uint64_t{zeros} * (zeros - 1) / 2);
    // In this order: the second half takes the place of the first as its scratch.
    const std::uint64_t among_zeros = partition_from(v, zeros, bit - 1, scratch + ones);
    return moved + among_zeros + partition_from(scratch, ones, bit - 1, v);
}

}  // namespace

std::uint64_t count_inversions(std::uint32_t* v, std::size_t n, std::uint32_t bound,
                               std::uint32_t* scratch) {
    int bits = 0;
    while (bits < 32 && bound > 1 && ((bound - 1) >> bits) != 0) ++bits;
    return partition_from(v, n, bits - 1, scratch);
}

}  // namespace dpreg
