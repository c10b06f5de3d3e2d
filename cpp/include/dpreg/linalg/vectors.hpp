// Vectors of numbers, of any number of bytes, and their lanes in another order.
#pragma once

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
/// Vectors of numbers, of so many bytes together.
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

}  // namespace dpreg
