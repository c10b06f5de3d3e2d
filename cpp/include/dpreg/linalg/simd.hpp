// Vectors of numbers, of any number of bytes, and lanes of doubles, for kernels that are compiled
// for each instruction set.
//
// Lanes are as many on every processor and nothing is contracted or reassociated, so all
// instruction sets give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dpreg/linalg/kernels.hpp"

namespace dpreg {

// Not an alias of the vector itself: gcc forgets an attribute that depends on a parameter.
template <class Number, std::size_t Bytes>
struct MakeVector {
    using Type __attribute__((vector_size(Bytes))) = Number;
};
/// Vectors of numbers with this total number of bytes.
template <class Number, std::size_t Bytes>
using VectorOf = typename MakeVector<Number, Bytes>::Type;

/// Lanes order(k, lanes) of two vectors, those of the second counted on from the first.
template <class To, class From, class Order, std::size_t... k>
DPREG_INLINE To shuffled(const From& a, const From& b, Order order, std::index_sequence<k...>) {
    constexpr std::size_t lanes = sizeof(From) / sizeof(a[0]);
#if defined(__clang__) || __GNUC__ >= 12
    return __builtin_shufflevector(a, b, order(k, lanes)...);
#else
    return To{
        (order(k, lanes) < lanes ? a[order(k, lanes) % lanes] : b[order(k, lanes) % lanes])...};
#endif
}
template <class To, class From, class Order>
DPREG_INLINE To shuffled(const From& a, const From& b, Order order) {
    return shuffled<To>(a, b, order, std::make_index_sequence<sizeof(To) / sizeof(a[0])>{});
}

/// Groups of kUnit lanes of two vectors in turn, within each kBlock lanes: those of the first
/// halves of the blocks, or of the last.
template <std::size_t kUnit, std::size_t kBlock, bool kLast, class Vector>
DPREG_INLINE Vector interleaved(const Vector& a, const Vector& b) {
    if constexpr (kUnit == kBlock) return kLast ? b : a;
    return shuffled<Vector>(a, b, [](std::size_t k, std::size_t lanes) {
        const std::size_t unit = k % kBlock / kUnit;
        return unit % 2 * lanes + k / kBlock * kBlock + (kLast ? kBlock / 2 : 0) +
               unit / 2 * kUnit + k % kUnit;
    });
}

/// The lanes of `a`, then those of `b`.
template <class Wider, class Vector>
DPREG_INLINE Wider concatenated(const Vector& a, const Vector& b) {
    return shuffled<Wider>(a, b, [](std::size_t k, std::size_t) { return k; });
}

/// The first or the last lanes of `a`.
template <class Narrower, bool kLast, class Vector>
DPREG_INLINE Narrower half(const Vector& a) {
    return shuffled<Narrower>(
        a, a, [](std::size_t k, std::size_t lanes) { return kLast ? k + lanes / 2 : k; });
}

/// `value` in each lane.  Of `Vector{} + value` gcc 12 would fill one lane after another.
template <class Vector, class Number>
DPREG_INLINE Vector filled(Number value) {
    Vector first{};
    first[0] = value;
    return shuffled<Vector>(first, first, [](std::size_t, std::size_t) { return std::size_t{0}; });
}

// A pointer to a vector type says that memory is aligned to all of it, and clang believes
// that even of a type declared with less; of a packed structure it does not.
template <class Vector>
struct __attribute__((packed, may_alias)) Loose {
    Vector values;
};

/// Doubles as integers, or the other way round: by way of 32 bits, as processors do it.
template <class To, class From>
DPREG_INLINE To converted(const From& from) {
    if constexpr (std::is_same_v<From, To>) {
        return from;
    } else {
        constexpr std::size_t lanes = sizeof(From) / sizeof(from[0]);
        using Ints = VectorOf<std::int32_t, lanes * sizeof(std::int32_t)>;
        return __builtin_convertvector(__builtin_convertvector(from, Ints), To);
    }
}

/// Lanes; row-major blocks are padded with zeros to a multiple of this.
inline constexpr std::size_t kPanel = 8;

/// The smallest multiple of kPanel that is at least `size`.
constexpr std::size_t padded(std::size_t size) { return (size + kPanel - 1) / kPanel * kPanel; }

/// kPanel doubles in registers of `Bytes` bytes.
///
/// Not one vector of 64 bytes: on narrower registers gcc keeps those in memory.
template <std::size_t Bytes>
struct LanesOf {
    using Part = VectorOf<double, Bytes>;
    using Bits = VectorOf<std::uint64_t, Bytes>;
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

    template <class Number>
    DPREG_INLINE static Part load_part(const Number* from) {
        using Stored = VectorOf<Number, kSize * sizeof(Number)>;
        const Stored values = reinterpret_cast<const Loose<Stored>*>(from)->values;
        return converted<Part>(values);
    }

    template <class Number>
    DPREG_INLINE static LanesOf load(const Number* from) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA { return load_part(from + k * kSize); });
    }

    template <class Number>
    DPREG_INLINE static void store_part(const Part& values, Number* to) {
        using Stored = VectorOf<Number, kSize * sizeof(Number)>;
        reinterpret_cast<Loose<Stored>*>(to)->values = converted<Stored>(values);
    }

    /// As integers of so many bits, within which they must be, or as they are.
    template <class Number>
    DPREG_INLINE void store(Number* to) const {
        for (std::size_t k = 0; k < kParts; ++k) store_part(part[k], to + k * kSize);
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

    /// The larger of `x` and `least`; `least` for NaN.
    DPREG_INLINE friend LanesOf above(const LanesOf& x, const LanesOf& least) {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            return x.part[k] > least.part[k] ? x.part[k] : least.part[k];
        });
    }

    /// The smaller of `x` and `most`; `most` for NaN.
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

#define DPREG_OPERATOR(op)                                                                      \
    DPREG_INLINE friend LanesOf operator op(const LanesOf& a, const LanesOf& b) {               \
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA { return a.part[k] op b.part[k]; }); \
    }                                                                                           \
    DPREG_INLINE friend LanesOf operator op(const LanesOf& a, double b) {                       \
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA { return a.part[k] op b; });         \
    }                                                                                           \
    DPREG_INLINE friend LanesOf operator op(double a, const LanesOf& b) { return of(a) op b; }
    DPREG_OPERATOR(+)
    DPREG_OPERATOR(-)
    DPREG_OPERATOR(*)
    DPREG_OPERATOR(/)
#undef DPREG_OPERATOR

    DPREG_INLINE LanesOf operator-() const {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA { return -part[k]; });
    }

    /// 2^k of lanes that hold 1.5 2^52 + k.
    DPREG_INLINE LanesOf power_of_two() const {
        return made([&](std::size_t k) DPREG_INLINE_LAMBDA {
            const Bits bits = reinterpret_cast<Bits>(part[k]) << 52;
            return reinterpret_cast<Part>(bits + (std::uint64_t{1023} << 52));
        });
    }

    DPREG_INLINE LanesOf& operator+=(const LanesOf& term) { return *this = *this + term; }
};

/// Transposes as many vectors as they have lanes: lane i of the j-th becomes lane j of the i-th.
/// For vectors of 16 bytes: halves of longer ones are not interleaved by one instruction.
template <class Vector, std::size_t kSize>
DPREG_INLINE void turn_around(std::array<Vector, kSize>& rows) {
    for (std::size_t done = 1; done < kSize; done *= 2) {
        const std::array<Vector, kSize> from = rows;
        for (std::size_t i = 0; i < kSize / 2; ++i) {
            rows[2 * i] = interleaved<1, kSize, false>(from[i], from[i + kSize / 2]);
            rows[2 * i + 1] = interleaved<1, kSize, true>(from[i], from[i + kSize / 2]);
        }
    }
}

/// As that, of vectors of doubles: blocks of 1, 2, ... lanes change places across the diagonal.
template <std::size_t kUnit = 1, class Vector, std::size_t kSize>
DPREG_INLINE void turn_square(std::array<Vector, kSize>& rows) {
    if constexpr (kUnit < kSize) {
        for (std::size_t i = 0; i < kSize; ++i) {
            if ((i & kUnit) != 0) continue;
            const Vector a = rows[i];
            const Vector b = rows[i + kUnit];
            rows[i] = interleaved<kUnit, 2 * kUnit, false>(a, b);
            rows[i + kUnit] = interleaved<kUnit, 2 * kUnit, true>(a, b);
        }
        turn_square<2 * kUnit>(rows);
    }
}

/// Columns of kPanel rows, as many as a part has lanes: of each row they are next to one another.
template <class Lanes>
DPREG_INLINE std::array<Lanes, Lanes::kSize> columns_of(
    const std::array<const double*, kPanel>& rows, std::size_t at) {
    std::array<Lanes, Lanes::kSize> columns;
    for (std::size_t part = 0; part < Lanes::kParts; ++part) {
        std::array<typename Lanes::Part, Lanes::kSize> square;
        for (std::size_t i = 0; i < Lanes::kSize; ++i) {
            square[i] = Lanes::load_part(rows[part * Lanes::kSize + i] + at);
        }
        turn_square(square);
        for (std::size_t i = 0; i < Lanes::kSize; ++i) columns[i].part[part] = square[i];
    }
    return columns;
}

/// The inverse: writes these columns of kPanel rows, which are `stride` apart.
template <class Lanes>
DPREG_INLINE void write_columns(const std::array<Lanes, Lanes::kSize>& columns, double* to,
                                std::size_t stride) {
    for (std::size_t part = 0; part < Lanes::kParts; ++part) {
        std::array<typename Lanes::Part, Lanes::kSize> square;
        for (std::size_t i = 0; i < Lanes::kSize; ++i) square[i] = columns[i].part[part];
        turn_square(square);
        for (std::size_t i = 0; i < Lanes::kSize; ++i) {
            Lanes::store_part(square[i], to + (part * Lanes::kSize + i) * stride);
        }
    }
}

/// `x` clipped to [low, high]; NaN becomes `low`.
template <class Lanes>
DPREG_INLINE Lanes clipped(const Lanes& x, double low, double high) {
    return below(above(x, Lanes::of(low)), Lanes::of(high));
}

/// The nearest integer, halves to even, for |x| <= 2^51.
template <class Lanes>
DPREG_INLINE Lanes nearest(const Lanes& x) {
    constexpr double shift = 6755399441055744.0;  // 1.5 2^52: what is added to it is rounded
    return (x + shift) - shift;
}

/// A kernel on lanes of doubles.
template <class Work>
using LanesKernel =
    CompiledKernel<Work, LanesOf<16>, LanesOf<DPREG_X86 ? 32 : 16>, LanesOf<DPREG_X86 ? 64 : 16>>;

}  // namespace dpreg
