// Lanes of doubles, and kernels on them that are compiled for each instruction set.
//
// A kernel is a class with a static, always inlined `run<Lanes>(...)`, and is called through a
// `LanesKernel` of that class.  Lanes are as many on every processor and nothing is contracted or
// reassociated, so all instruction sets give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "dpreg/linalg/instructions.hpp"

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

/// Lanes; row-major blocks are padded with zeros to a multiple of this.
inline constexpr std::size_t kPanel = 8;

/// The smallest multiple of kPanel that is at least `size`.
constexpr std::size_t padded(std::size_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

// Not an alias of the vector itself: gcc forgets an attribute that depends on a parameter.
template <class Number, std::size_t Bytes>
struct MakeVector {
    using Type __attribute__((vector_size(Bytes))) = Number;
};
/// Vectors of numbers, of so many bytes together.
template <class Number, std::size_t Bytes>
using VectorOf = typename MakeVector<Number, Bytes>::Type;

/// Lanes kOrder... of two vectors, those of the second counted on from the first.
template <class To, class Order, class From, std::size_t... k>
DPREG_INLINE To shuffled(const From& a, const From& b, std::index_sequence<k...>) {
    constexpr std::size_t lanes = sizeof(From) / sizeof(a[0]);
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, Order::at(k, lanes)...);
#else
    return To{(Order::at(k, lanes) < lanes ? a[Order::at(k, lanes) % lanes]
                                           : b[Order::at(k, lanes) % lanes])...};
#endif
}
template <class To, class Order, class From>
DPREG_INLINE To shuffled(const From& a, const From& b) {
    return shuffled<To, Order>(a, b, std::make_index_sequence<sizeof(To) / sizeof(a[0])>{});
}

/// Groups of kUnit lanes of two vectors in turn, within each kBlock lanes: those of the first
/// halves of the blocks, or of the last.
template <std::size_t kUnit, std::size_t kBlock, bool kLast, class Vector>
DPREG_INLINE Vector interleaved(const Vector& a, const Vector& b) {
    struct Order {
        static constexpr std::size_t at(std::size_t k, std::size_t lanes) {
            const std::size_t unit = k % kBlock / kUnit;
            return unit % 2 * lanes + k / kBlock * kBlock + (kLast ? kBlock / 2 : 0) +
                   unit / 2 * kUnit + k % kUnit;
        }
    };
    if constexpr (kUnit == kBlock) return kLast ? b : a;
    return shuffled<Vector, Order>(a, b);
}

/// The lanes of `a`, then those of `b`.
template <class Wider, class Vector>
DPREG_INLINE Wider concatenated(const Vector& a, const Vector& b) {
    struct Order {
        static constexpr std::size_t at(std::size_t k, std::size_t) { return k; }
    };
    return shuffled<Wider, Order>(a, b);
}

/// The first or the last lanes of `a`.
template <class Narrower, bool kLast, class Vector>
DPREG_INLINE Narrower half(const Vector& a) {
    struct Order {
        static constexpr std::size_t at(std::size_t k, std::size_t lanes) {
            return kLast ? k + lanes / 2 : k;
        }
    };
    return shuffled<Narrower, Order>(a, a);
}

/// `value` in each lane.  Of `Vector{} + value` gcc 12 would fill one lane after another.
template <class Vector, class Number>
DPREG_INLINE Vector filled(Number value) {
    struct Order {
        static constexpr std::size_t at(std::size_t, std::size_t) { return 0; }
    };
    Vector first{};
    first[0] = value;
    return shuffled<Vector, Order>(first, first);
}

// A pointer to a vector type says that memory is aligned to all of it, and clang believes
// that even of a type declared with less; of a packed structure it does not.
template <class Vector>
struct __attribute__((packed, may_alias)) Loose {
    Vector values;
};

/// kPanel doubles in registers of `Bytes` bytes.
///
/// Not one vector of 64 bytes: on narrower registers gcc keeps those in memory.
template <std::size_t Bytes>
struct LanesOf {
    using Part = VectorOf<double, Bytes>;
    using Bits = VectorOf<std::uint64_t, Bytes>;
    using Int = VectorOf<std::int32_t, Bytes / 2>;
    using Short = VectorOf<std::int16_t, Bytes / 4>;
    static constexpr std::size_t kSize = Bytes / sizeof(double);
    static constexpr std::size_t kParts = kPanel / kSize;

    Part part[kParts];

    /// Of the parts that `make(k)` returns.
    template <class Make>
    DPREG_INLINE static LanesOf made(const Make& make) {
        LanesOf lanes;
        for (std::size_t k = 0; k < kParts; ++k) lanes.part[k] = make(k);
        return lanes;
    }

    DPREG_INLINE static LanesOf of(double value) {
        return made([&](std::size_t) DPREG_INLINE_LAMBDA { return filled<Part>(value); });
    }

    DPREG_INLINE static LanesOf load(const double* from) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            return reinterpret_cast<const Loose<Part>*>(from + k * kSize)->values;
        });
    }

    DPREG_INLINE static LanesOf load(const std::int16_t* from) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            const Short values = reinterpret_cast<const Loose<Short>*>(from + k * kSize)->values;
            return __builtin_convertvector(__builtin_convertvector(values, Int), Part);
        });
    }

    DPREG_INLINE void store(double* to) const {
        for (std::size_t k = 0; k < kParts; ++k) {
            reinterpret_cast<Loose<Part>*>(to + k * kSize)->values = part[k];
        }
    }

    /// Integers of at most 16 bits.
    DPREG_INLINE void store(std::int16_t* to) const {
        for (std::size_t k = 0; k < kParts; ++k) {
            reinterpret_cast<Loose<Short>*>(to + k * kSize)->values =
                __builtin_convertvector(__builtin_convertvector(part[k], Int), Short);
        }
    }

    /// Integers of at most 32 bits.
    DPREG_INLINE void store(std::int32_t* to) const {
        for (std::size_t k = 0; k < kParts; ++k) {
            reinterpret_cast<Loose<Int>*>(to + k * kSize)->values =
                __builtin_convertvector(part[k], Int);
        }
    }

    DPREG_INLINE double operator[](std::size_t k) const { return part[k / kSize][k % kSize]; }

    /// In the order of the lanes.
    DPREG_INLINE double sum() const {
        double total = 0.0;
        for (std::size_t k = 0; k < kPanel; ++k) total += (*this)[k];
        return total;
    }

    /// All are 0, and none of them -0.
    DPREG_INLINE bool zero() const {
        Bits bits = reinterpret_cast<Bits>(part[0]);
        for (std::size_t k = 1; k < kParts; ++k) bits |= reinterpret_cast<Bits>(part[k]);
        std::uint64_t any = 0;
        for (std::size_t i = 0; i < kSize; ++i) any |= bits[i];
        return any == 0;
    }

    /// `x` where it is above `least`, which takes the place of what is not a number.
    DPREG_INLINE friend LanesOf above(const LanesOf& x, const LanesOf& least) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            return x.part[k] > least.part[k] ? x.part[k] : least.part[k];
        });
    }

    /// `x` where it is below `most`, which takes the place of what is not a number.
    DPREG_INLINE friend LanesOf below(const LanesOf& x, const LanesOf& most) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            return x.part[k] < most.part[k] ? x.part[k] : most.part[k];
        });
    }

    /// `zero` where x is 0, `other` elsewhere.
    DPREG_INLINE friend LanesOf if_zero(const LanesOf& x, const LanesOf& zero,
                                        const LanesOf& other) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            return x.part[k] == 0.0 ? zero.part[k] : other.part[k];
        });
    }

    /// `yes` where x is above y, `no` elsewhere.
    DPREG_INLINE friend LanesOf if_above(const LanesOf& x, double y, const LanesOf& yes,
                                         const LanesOf& no) {
        return made([&](std::size_t k)
                        DPREG_INLINE_LAMBDA { return x.part[k] > y ? yes.part[k] : no.part[k]; });
    }

    DPREG_INLINE friend LanesOf root(const LanesOf& x) {
        LanesOf lanes;
        for (std::size_t k = 0; k < kParts; ++k) {
            for (std::size_t i = 0; i < kSize; ++i) {
                lanes.part[k][i] = __builtin_sqrt(x.part[k][i]);
            }
        }
        return lanes;
    }

#define DPREG_OPERATOR(op)                                                               \
    DPREG_INLINE friend LanesOf operator op(const LanesOf& a, const LanesOf& b) {        \
        LanesOf lanes;                                                                   \
        for (std::size_t k = 0; k < kParts; ++k) lanes.part[k] = a.part[k] op b.part[k]; \
        return lanes;                                                                    \
    }                                                                                    \
    DPREG_INLINE friend LanesOf operator op(const LanesOf& a, double b) {                \
        LanesOf lanes;                                                                   \
        for (std::size_t k = 0; k < kParts; ++k) lanes.part[k] = a.part[k] op b;         \
        return lanes;                                                                    \
    }                                                                                    \
    DPREG_INLINE friend LanesOf operator op(double a, const LanesOf& b) { return of(a) op b; }
    DPREG_OPERATOR(+)
    DPREG_OPERATOR(-)
    DPREG_OPERATOR(*)
    DPREG_OPERATOR(/)
#undef DPREG_OPERATOR

    DPREG_INLINE LanesOf operator-() const {
        LanesOf lanes;
        for (std::size_t k = 0; k < kParts; ++k) lanes.part[k] = -part[k];
        return lanes;
    }

    /// 2^k of lanes that hold 1.5 2^52 + k.
    DPREG_INLINE LanesOf power_of_two() const {
        LanesOf lanes;
        for (std::size_t k = 0; k < kParts; ++k) {
            const Bits bits = reinterpret_cast<Bits>(part[k]) << 52;
            lanes.part[k] = reinterpret_cast<Part>(bits + (std::uint64_t{1023} << 52));
        }
        return lanes;
    }

    DPREG_INLINE LanesOf& operator+=(const LanesOf& term) { return *this = *this + term; }
};

/// Turns as many vectors as they have lanes, so that lane i of the j-th becomes lane j of the i-th.
template <class Vector, std::size_t kSize>
DPREG_INLINE void turn_around(std::array<Vector, kSize>& rows) {
    for (std::size_t done = 1; done < kSize; done *= 2) {
        std::array<Vector, kSize> next;
        for (std::size_t i = 0; i < kSize / 2; ++i) {
            next[2 * i] = interleaved<1, kSize, false>(rows[i], rows[i + kSize / 2]);
            next[2 * i + 1] = interleaved<1, kSize, true>(rows[i], rows[i + kSize / 2]);
        }
        rows = next;
    }
}

/// As that, of kPanel lanes.
template <std::size_t Bytes>
DPREG_INLINE void turn_around(std::array<LanesOf<Bytes>, kPanel>& rows) {
    using Lanes = LanesOf<Bytes>;
    constexpr std::size_t size = Lanes::kSize;
    std::array<Lanes, kPanel> turned;
    for (std::size_t top = 0; top < kPanel; top += size) {
        for (std::size_t part = 0; part < Lanes::kParts; ++part) {
            std::array<typename Lanes::Part, size> square;
            for (std::size_t i = 0; i < size; ++i) square[i] = rows[top + i].part[part];
            turn_around(square);
            for (std::size_t i = 0; i < size; ++i) {
                turned[part * size + i].part[top / size] = square[i];
            }
        }
    }
    rows = turned;
}

/// `x` within [low, high]; what is not a number becomes `low`.
template <class Lanes>
DPREG_INLINE Lanes clipped(const Lanes& x, double low, double high) {
    return below(above(x, Lanes::of(low)), Lanes::of(high));
}

/// What is nearest among the integers, half to even, for |x| <= 2^51.
template <class Lanes>
DPREG_INLINE Lanes nearest(const Lanes& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 2^52: what is added to it is rounded
    return (x + shift) - shift;
}

template <class Work, class Portable, class Avx2, class Avx512, class Vnni,
          class Function = decltype(&Work::template run<Portable>)>
struct CompiledKernel;

/// Calls Work::run<...>, each compiled for its instruction set, of the one in use.
template <class Work, class Portable, class Avx2, class Avx512, class Vnni, class... Arguments>
struct CompiledKernel<Work, Portable, Avx2, Avx512, Vnni, void (*)(Arguments...)> {
    void operator()(Arguments... arguments) const {
        constexpr std::array<void (*)(Arguments...), kInstructionSets> paths{
            portable, avx2, avx512, std::is_same_v<Avx512, Vnni> ? avx512 : vnni};
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
    DPREG_FLAT DPREG_AVX512_VNNI static void vnni(Arguments... arguments) {
        Work::template run<Vnni>(arguments...);
    }
};

/// A kernel on lanes of doubles.
template <class Work>
using LanesKernel = CompiledKernel<Work, LanesOf<16>, LanesOf<DPREG_X86 ? 32 : 16>,
                                   LanesOf<DPREG_X86 ? 64 : 16>, LanesOf<DPREG_X86 ? 64 : 16>>;

}  // namespace dpreg
