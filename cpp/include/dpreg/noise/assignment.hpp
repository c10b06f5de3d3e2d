#pragma once

#include <cstddef>
#include <vector>

#include "dpreg/noise/bits.hpp"

namespace dpreg {

/// Which units belong to which model: model g has
/// members[offsets[g]], ..., members[offsets[g + 1] - 1], in uniformly random order.
struct Assignment {
    std::vector<std::size_t> members;
    std::vector<std::size_t> offsets;  ///< size models + 1
};

/// Places units 0, ..., n - 1 into models * batch slots by a uniformly random
/// injection: slots stay empty if there are too few units, units stay unused if
/// there are too many.  Model g owns slots g * batch, ..., (g + 1) * batch - 1.
///
/// Domain     models >= 1, batch >= 1; any n.
/// Stability  the assignments of n and of n + 1 units can be coupled so that at
///            most one slot, hence one model, differs (assignment.md, Lemma 1).
/// Cost       O(n + models * batch) time and memory.
Assignment assign_to_slots(std::size_t n, std::size_t models, std::size_t batch, BitSource& bits);

/// Sends each unit to a uniformly random model, independently of all others.
///
/// Domain     models >= 1; any n.
/// Stability  the assignments of n and of n + 1 units can be coupled so that at
///            most one model differs (assignment.md, Lemma 2).
/// Cost       O(n + models) time and memory.
Assignment assign_independently(std::size_t n, std::size_t models, BitSource& bits);

}  // namespace dpreg
