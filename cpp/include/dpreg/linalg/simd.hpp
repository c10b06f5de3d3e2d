// Vector types and the choice of an instruction set at run time.
//
// A kernel is an always-inlined function on these types; thin wrappers compile it for each
// instruction set.  gcc and clang split the types into registers of whatever length there
// is, and nothing is contracted or reassociated, so all wrappers give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dpreg/linalg/instructions.hpp"

namespace dpreg {

/// Lanes of the vector types; row-major blocks are padded with zeros to a multiple of this.
inline constexpr std::size_t kPanel = 8;

using Lanes = double __attribute__((vector_size(8 * kPanel)));
using ShortLanes = std::int16_t __attribute__((vector_size(2 * kPanel)));

/// The smallest multiple of kPanel that is at least `size`.
constexpr std::size_t padded(std::size_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

#if defined(__x86_64__) && defined(__GNUC__)
#define DPREG_AVX2 __attribute__((target("avx2,fma")))
#define DPREG_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define DPREG_AVX512_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define DPREG_X86 1
#else
#define DPREG_AVX2
#define DPREG_AVX512
#define DPREG_AVX512_VNNI
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

DPREG_INLINE void store_lanes(double* to, const Lanes& values) {
    std::memcpy(to, &values, sizeof values);
}

/// Integers of at most 16 bits.
DPREG_INLINE void store_short_lanes(std::int16_t* to, const Lanes& values) {
    using IntLanes = std::int32_t __attribute__((vector_size(4 * kPanel)));
    const auto ints = __builtin_convertvector(values, IntLanes);
    const auto shorts = __builtin_convertvector(ints, ShortLanes);
    std::memcpy(to, &shorts, sizeof shorts);
}

/// `x` within [low, high]; what is not a number becomes `low`.
DPREG_INLINE Lanes clipped_lanes(const Lanes& x, double low, double high) {
    const Lanes least = Lanes{} + low;
    const Lanes most = Lanes{} + high;
    const Lanes above = x > least ? x : least;
    return above < most ? above : most;
}

/// What is nearest among the integers, half to even, for |x| <= 2^51.
DPREG_INLINE Lanes nearest_lanes(const Lanes& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 2^52: what is added to it is rounded
    return (x + shift) - shift;
}

DPREG_INLINE Lanes root_lanes(const Lanes& x) {
    Lanes roots{};
    for (std::size_t k = 0; k < kPanel; ++k) roots[k] = __builtin_sqrt(x[k]);
    return roots;
}

}  // namespace dpreg
