#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dpreg {

/// Instruction sets that kernels are compiled for, in order of preference.
enum class Instructions : std::uint8_t {
    portable,  ///< what every processor of the architecture has
    avx2,      ///< AVX2 and FMA
    avx512,    ///< AVX-512 F, BW, DQ and VL
};

inline constexpr std::size_t kInstructionSets = 3;

/// Those that this processor has, in order.
std::vector<Instructions> instruction_sets();

/// The one in use: the last of them, or what was chosen.
Instructions instructions_in_use() noexcept;

/// Chooses one that this processor has, for tests and measurements: all give the same bits.
void use_instructions(Instructions choice);

}  // namespace dpreg
