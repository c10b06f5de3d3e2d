#pragma once

#include <cstddef>
#include <cstdint>

namespace dpreg {

// Two counts of the pairs i < j with v[i] > v[j]; equal values are no inversion.  They agree on
// every input; `inversions_by_partition` is the faster and the one in use, the other is that of
// published code, and its check (tests/benchmarks/bench_selection.py has their times).

/// By halving the values: a stable partition by the highest bit of the values moves each
/// value below it past the larger ones before it, and then each half is done by itself.  A
/// merge sort backwards, without comparisons to wait for.
///
/// Domain   values below `bound`; `scratch` has room for n values.  Destroys `v`.
/// Cost     O(n log bound) steps of two stores each.
std::uint64_t inversions_by_partition(std::uint32_t* v, std::size_t n, std::uint32_t bound,
                                      std::uint32_t* scratch);

/// By merge sort (Knight, 1966).  Sorts `v`; `scratch` has room for n values.
std::uint64_t inversions_by_merging(std::uint32_t* v, std::size_t n, std::uint32_t* scratch);

}  // namespace dpreg
