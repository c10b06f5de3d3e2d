// Registers of 16-bit integers, of any width: what is written with them is compiled for each
// instruction set by `CompiledKernel`.  Only products need instructions of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dpreg/linalg/simd.hpp"
#if DPREG_X86
#include <immintrin.h>
#elif DPREG_NEON
#include <arm_neon.h>
#endif

namespace dpreg {

/// 32-bit integers, or as many pairs of 16-bit ones.  Sums wrap around.
template <std::size_t Bytes>
using IntsOf = VectorOf<std::uint32_t, Bytes>;

// `fill`: a pair of 16-bit integers, again and again.  `add_products`: sum += products of pairs.
// Not always inlined, as gcc would do that in functions without these instructions first.
#if DPREG_X86
#define DPREG_AVX2_ONLY __attribute__((target("avx2")))
#define DPREG_FILL(target, bytes, set)                                     \
    target inline void fill(IntsOf<bytes>& to, std::uint32_t pair) {       \
        to = reinterpret_cast<IntsOf<bytes>>(set(static_cast<int>(pair))); \
    }
#define DPREG_PRODUCTS(target, bytes, integer, result)                          \
    target inline void add_products(IntsOf<bytes>& sum, const IntsOf<bytes>& a, \
                                    const IntsOf<bytes>& b) {                   \
        const auto x = reinterpret_cast<integer>(a);                            \
        const auto y = reinterpret_cast<integer>(b);                            \
        const auto s = reinterpret_cast<integer>(sum);                          \
        sum = reinterpret_cast<IntsOf<bytes>>(result);                          \
    }
DPREG_FILL(, 16, _mm_set1_epi32)
DPREG_FILL(DPREG_AVX2_ONLY, 32, _mm256_set1_epi32)
DPREG_FILL(DPREG_AVX512, 64, _mm512_set1_epi32)
DPREG_PRODUCTS(, 16, __m128i, _mm_add_epi32(s, _mm_madd_epi16(x, y)))
DPREG_PRODUCTS(DPREG_AVX2_ONLY, 32, __m256i, _mm256_add_epi32(s, _mm256_madd_epi16(x, y)))
DPREG_PRODUCTS(DPREG_AVX512, 64, __m512i, _mm512_add_epi32(s, _mm512_madd_epi16(x, y)))
#undef DPREG_FILL
#undef DPREG_PRODUCTS
#else
DPREG_INLINE void fill(IntsOf<16>& to, std::uint32_t pair) { to = IntsOf<16>{} + pair; }
#endif
#if DPREG_X86
#elif DPREG_NEON
DPREG_INLINE void add_products(IntsOf<16>& sum, const IntsOf<16>& a, const IntsOf<16>& b) {
    const auto x = reinterpret_cast<int16x8_t>(a);
    const auto y = reinterpret_cast<int16x8_t>(b);
    const auto first = vmull_s16(vget_low_s16(x), vget_low_s16(y));
    sum += reinterpret_cast<IntsOf<16>>(vpaddq_s32(first, vmull_high_s16(x, y)));
}
#else
DPREG_INLINE void add_products(IntsOf<16>& sum, const IntsOf<16>& a, const IntsOf<16>& b) {
    using Signed = VectorOf<std::int32_t, 16>;
    sum += reinterpret_cast<IntsOf<16>>((reinterpret_cast<Signed>(a) >> 16) *
                                        (reinterpret_cast<Signed>(b) >> 16));
    sum += reinterpret_cast<IntsOf<16>>((reinterpret_cast<Signed>(a << 16) >> 16) *
                                        (reinterpret_cast<Signed>(b << 16) >> 16));
}
#endif

template <std::size_t Bytes>
struct Register {
    using Ints = IntsOf<Bytes>;
    using Longs = VectorOf<std::int64_t, Bytes>;
    static constexpr std::size_t kBytes = Bytes;
    static constexpr std::size_t kShorts = Bytes / 2;
    static constexpr std::size_t kInts = Bytes / 4;
    static constexpr std::size_t kLongs = Bytes / 8;
    static constexpr std::size_t kNarrower = Bytes > 16 ? Bytes / 2 : 16;
    using Narrower = Register<kNarrower>;

    DPREG_INLINE static Ints load(const void* from) {
        Ints value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }

    /// Calls part(k) for each 16 bytes, and puts what they return next to one another.
    template <class Part>
    DPREG_INLINE static Ints joined(const Part& part, std::size_t first = 0) {
        if constexpr (Bytes == 16) {
            return part(first);
        } else {
            return concatenated<Ints>(Narrower::joined(part, first),
                                      Narrower::joined(part, first + Bytes / 32));
        }
    }

    DPREG_INLINE static Ints fill(std::uint32_t pair) {
        Ints filled;
        dpreg::fill(filled, pair);
        return filled;
    }

    DPREG_INLINE static void add_products(Ints& sum, const Ints& a, const Ints& b) {
        dpreg::add_products(sum, a, b);
    }

    /// Pairs of a 16-bit integer of `a` and one of `b`: of each eight the first four or the last.
    template <bool kLast>
    DPREG_INLINE static Ints pairs(const Ints& a, const Ints& b) {
        using Entries = VectorOf<std::int16_t, Bytes>;
        return reinterpret_cast<Ints>(
            interleaved<1, 8, kLast>(reinterpret_cast<Entries>(a), reinterpret_cast<Entries>(b)));
    }

    /// The sum of both halves.
    DPREG_INLINE static IntsOf<kNarrower> folded(const Ints& a) {
        return half<IntsOf<kNarrower>, false>(a) + half<IntsOf<kNarrower>, true>(a);
    }

    /// Turns the integers of each 16 bytes of four registers, so that rows become columns.
    DPREG_INLINE static void turn(const Ints* from, Ints* to) {
        const Ints ab = interleaved<1, 4, false>(from[0], from[1]);
        const Ints cd = interleaved<1, 4, false>(from[2], from[3]);
        const Ints rest_ab = interleaved<1, 4, true>(from[0], from[1]);
        const Ints rest_cd = interleaved<1, 4, true>(from[2], from[3]);
        to[0] = interleaved<2, 4, false>(ab, cd);
        to[1] = interleaved<2, 4, true>(ab, cd);
        to[2] = interleaved<2, 4, false>(rest_ab, rest_cd);
        to[3] = interleaved<2, 4, true>(rest_ab, rest_cd);
    }

    /// Sums in 64 bits of registers of 32-bit integers that are not negative.
    struct Wide {
        Longs even, odd;

        DPREG_INLINE explicit Wide(std::int64_t start) : even(filled<Longs>(start)), odd(even) {}

        DPREG_INLINE void add(const Ints& terms) {
            using Bits = VectorOf<std::uint64_t, Bytes>;
            const auto both = reinterpret_cast<Bits>(terms);
            even += reinterpret_cast<Longs>(both & 0xffffffffU);
            odd += reinterpret_cast<Longs>(both >> 32);
        }

        /// Adds them to kInts integers.
        DPREG_INLINE void add_to(std::int64_t* to) const {
            add_longs(to, interleaved<1, kLongs, false>(even, odd));
            add_longs(to + kLongs, interleaved<1, kLongs, true>(even, odd));
        }
    };

    /// Adds what pairs<false> and pairs<true> became to kShorts integers.
    DPREG_INLINE static void add_pairs(std::int64_t* to, const Wide& low, const Wide& high) {
        std::array<Longs, 4> twos{interleaved<1, 2, false>(low.even, low.odd),
                                  interleaved<1, 2, true>(low.even, low.odd),
                                  interleaved<1, 2, false>(high.even, high.odd),
                                  interleaved<1, 2, true>(high.even, high.odd)};
        // The first two of each come first: twice the first half is interleaved with the second.
        for (int time = 0; time < 2; ++time) {
            twos = {interleaved<2, kLongs, false>(twos[0], twos[2]),
                    interleaved<2, kLongs, true>(twos[0], twos[2]),
                    interleaved<2, kLongs, false>(twos[1], twos[3]),
                    interleaved<2, kLongs, true>(twos[1], twos[3])};
        }
        for (std::size_t k = 0; k < 4; ++k) add_longs(to + k * kLongs, twos[k]);
    }

private:
    DPREG_INLINE static void add_longs(std::int64_t* to, const Longs& terms) {
        Longs sum;
        std::memcpy(&sum, to, sizeof sum);
        sum += terms;
        std::memcpy(to, &sum, sizeof sum);
    }
};

/// A pair of 16-bit integers.
DPREG_INLINE std::uint32_t pair_at(const std::int16_t* from) {
    std::uint32_t pair = 0;
    std::memcpy(&pair, from, sizeof pair);
    return pair;
}

/// Calls step(register, j) for parts of [from, size), in the widest register that a part fills;
/// `kEntry` is the number of bytes of an entry.
template <class Widest, std::size_t kEntry, class Step>
DPREG_INLINE void over_parts(std::size_t from, std::size_t size, const Step& step) {
    constexpr std::size_t entries = Widest::kBytes / kEntry;
    for (; from + entries <= size; from += entries) step(Widest{}, from);
    if constexpr (Widest::kBytes > 16) {
        over_parts<typename Widest::Narrower, kEntry>(from, size, step);
    }
}

using Narrow = Register<16>;

/// A kernel on such registers.
template <class Work>
using ShortKernel =
    CompiledKernel<Work, Narrow, Register<DPREG_X86 ? 32 : 16>, Register<DPREG_X86 ? 64 : 16>>;

}  // namespace dpreg
