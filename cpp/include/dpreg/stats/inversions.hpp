#pragma once

#include <cstddef>
#include <cstdint>

namespace dpreg {

/// The number of pairs i < j with v[i] > v[j]; equal values are no inversion.
///
/// By halving the values: a stable partition by the highest bit of the values moves each
/// value below it past the larger ones before it, and then each half is done by itself.  A
/// merge sort backwards, without comparisons to wait for.
///
/// Domain   values below `bound`; `scratch` has room for n values.  Destroys `v`.
/// Cost     O(n log bound) steps of two stores each.
std::uint64_t count_inversions(std::uint32_t* v, std::size_t n, std::uint32_t bound,
                               std::uint32_t* scratch);

}  // namespace dpreg
