// Vector types and the choice of an instruction set at run time.
//
// A kernel is an always-inlined function on these types; thin wrappers compile it for each
// instruction set.  gcc and clang split the types into registers of whatever length there
// is, and nothing is contracted or reassociated, so all wrappers give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dpreg {

/// Lanes of the vector types; row-major blocks are padded with zeros to a multiple of this.
inline constexpr std::size_t kPanel = 8;

using Lanes = double __attribute__((vector_size(8 * kPanel)));
using ShortLanes = std::int16_t __attribute__((vector_size(2 * kPanel)));

/// The smallest multiple of kPanel that is at least `size`.
constexpr std::size_t padded(std::size_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

#if defined(__x86_64__) && defined(__GNUC__)
#define DPREG_TARGET(isa) __attribute__((target(isa)))
#define DPREG_X86 1
#else
#define DPREG_TARGET(isa)
#define DPREG_X86 0
#endif
#define DPREG_INLINE __attribute__((always_inline)) inline

// A pointer to a vector type says that memory is aligned to all of it, and clang believes
// that even of a type declared with less; of a packed structure it does not.
struct __attribute__((packed, may_alias)) LooseLanes {
    Lanes lanes;
};
struct __attribute__((packed, may_alias)) LooseShortLanes {
    ShortLanes lanes;
};

DPREG_INLINE Lanes load_lanes(const double* from) {
    return reinterpret_cast<const LooseLanes*>(from)->lanes;
}

DPREG_INLINE ShortLanes load_lanes(const std::int16_t* from) {
    return reinterpret_cast<const LooseShortLanes*>(from)->lanes;
}

DPREG_INLINE void add_lanes(double* to, const Lanes& term) {
    reinterpret_cast<LooseLanes*>(to)->lanes += term;
}

/// The wrapper for the best instruction set of this processor.
template <class Function>
Function best_of(Function portable, [[maybe_unused]] Function avx2,
                 [[maybe_unused]] Function avx512) noexcept {
#if DPREG_X86
    if (__builtin_cpu_supports("avx512f")) return avx512;
    if (__builtin_cpu_supports("avx2")) return avx2;
#endif
    return portable;
}

}  // namespace dpreg
