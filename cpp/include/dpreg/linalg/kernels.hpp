// Kernels that are compiled for each instruction set.
//
// A kernel is a class with a static, always inlined `run<...>(...)`, and is called through a
// `CompiledKernel` of that class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__)
#define DPREG_AVX2 __attribute__((target("avx2,fma")))
#define DPREG_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define DPREG_X86 1
#else
#define DPREG_AVX2
#define DPREG_AVX512
#define DPREG_X86 0
#endif
// Its own instructions are what every such processor has: the portable ones.
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__ARM_BIG_ENDIAN)
#define DPREG_NEON 1
#else
#define DPREG_NEON 0
#endif
#define DPREG_INLINE __attribute__((always_inline)) inline
#define DPREG_FLAT __attribute__((flatten))
#define DPREG_INLINE_LAMBDA __attribute__((always_inline))

namespace dpreg {

/// Instruction sets that kernels are compiled for, in order of preference.
enum class Instructions : std::uint8_t {
    portable,  ///< what every processor of the architecture has
    avx2,      ///< AVX2 and FMA
    avx512,    ///< AVX-512 F, BW, DQ and VL
};

inline constexpr std::size_t kInstructionSets = 3;

/// The sets that this processor supports, in order.
std::vector<Instructions> instruction_sets();

/// The set in use: the last of them, or the chosen one.
Instructions instructions_in_use() noexcept;

/// Chooses a supported set, for tests and measurements: all give the same bits.
void use_instructions(Instructions choice);

template <class Work, class Portable, class Avx2, class Avx512,
          class Function = decltype(&Work::template run<Portable>)>
struct CompiledKernel;

/// Calls Work::run<...>, each compiled for its instruction set, of the one in use.
template <class Work, class Portable, class Avx2, class Avx512, class... Arguments>
struct CompiledKernel<Work, Portable, Avx2, Avx512, void (*)(Arguments...)> {
    void operator()(Arguments... arguments) const {
        constexpr std::array<void (*)(Arguments...), kInstructionSets> paths{portable, avx2,
                                                                             avx512};
        paths[static_cast<std::size_t>(instructions_in_use())](arguments...);
    }

private:
    static void portable(Arguments... arguments) { Work::template run<Portable>(arguments...); }
    DPREG_FLAT DPREG_AVX2 static void avx2(Arguments... arguments) {
        Work::template run<Avx2>(arguments...);
    }
    DPREG_FLAT DPREG_AVX512 static void avx512(Arguments... arguments) {
        Work::template run<Avx512>(arguments...);
    }
};

}  // namespace dpreg
