// The registers of short_rows_body.hpp, which includes this: whole rows of 16-bit integers are
// worked on in registers of 16, 32 and 64 bytes, as many as DPREG_BYTES allows.

template <class Wide>
DPREG_HERE DPREG_INLINE void add_to(std::int64_t* to, const Wide& terms) {
    Wide sum;
    std::memcpy(&sum, to, sizeof sum);
    sum = sum + terms;
    std::memcpy(to, &sum, sizeof sum);
}

// `load_columns` loads eight columns of as many rows as there are 32-bit integers in a register:
// two columns a register, one row a lane.

/// Eight 16-bit or four 32-bit integers.
struct Narrow {
    using Ints = __attribute__((vector_size(16))) std::uint32_t;
    using Wide = __attribute__((vector_size(32))) std::uint64_t;
    static constexpr std::size_t kShorts = 8;
    static constexpr std::size_t kInts = 4;

    DPREG_HERE DPREG_INLINE static Ints load(const void* from) {
        Ints value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    DPREG_HERE DPREG_INLINE static Ints fill(std::int32_t pair) {
        return Ints{} + static_cast<std::uint32_t>(pair);
    }
#if DPREG_X86
    DPREG_HERE DPREG_INLINE static Ints add_products(Ints sum, Ints a, Ints b) {
        const auto x = reinterpret_cast<__m128i>(a);
        const auto y = reinterpret_cast<__m128i>(b);
#if DPREG_VNNI
        return reinterpret_cast<Ints>(_mm_dpwssd_epi32(reinterpret_cast<__m128i>(sum), x, y));
#else
        return sum + reinterpret_cast<Ints>(_mm_madd_epi16(x, y));
#endif
    }
    DPREG_HERE DPREG_INLINE static Ints low_pairs(Ints a, Ints b) {
        return reinterpret_cast<Ints>(
            _mm_unpacklo_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
    }
    DPREG_HERE DPREG_INLINE static Ints high_pairs(Ints a, Ints b) {
        return reinterpret_cast<Ints>(
            _mm_unpackhi_epi16(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
    }
#elif DPREG_NEON
    DPREG_HERE DPREG_INLINE static int16x8_t shorts(Ints a) {
        return reinterpret_cast<int16x8_t>(a);
    }
    DPREG_HERE DPREG_INLINE static Ints add_products(Ints sum, Ints a, Ints b) {
        const auto x = shorts(a);
        const auto y = shorts(b);
        const auto first = vmull_s16(vget_low_s16(x), vget_low_s16(y));
        return sum + reinterpret_cast<Ints>(vpaddq_s32(first, vmull_high_s16(x, y)));
    }
    DPREG_HERE DPREG_INLINE static Ints low_pairs(Ints a, Ints b) {
        return reinterpret_cast<Ints>(vzip1q_s16(shorts(a), shorts(b)));
    }
    DPREG_HERE DPREG_INLINE static Ints high_pairs(Ints a, Ints b) {
        return reinterpret_cast<Ints>(vzip2q_s16(shorts(a), shorts(b)));
    }
#else
    using Signed = __attribute__((vector_size(16))) std::int32_t;
    DPREG_HERE DPREG_INLINE static Ints add_products(Ints sum, Ints a, Ints b) {
        const auto odd = reinterpret_cast<Ints>((reinterpret_cast<Signed>(a) >> 16) *
                                                (reinterpret_cast<Signed>(b) >> 16));
        const auto even = reinterpret_cast<Ints>((reinterpret_cast<Signed>(a << 16) >> 16) *
                                                 (reinterpret_cast<Signed>(b << 16) >> 16));
        return sum + odd + even;
    }
    DPREG_HERE DPREG_INLINE static Ints pairs(const std::int16_t* a, const std::int16_t* b) {
        std::array<std::int16_t, kShorts> both{};
        for (std::size_t k = 0; k < kInts; ++k) {
            both[2 * k] = a[k];
            both[2 * k + 1] = b[k];
        }
        return load(both.data());
    }
    DPREG_HERE DPREG_INLINE static Ints low_pairs(Ints a, Ints b) {
        return pairs(reinterpret_cast<const std::int16_t*>(&a),
                     reinterpret_cast<const std::int16_t*>(&b));
    }
    DPREG_HERE DPREG_INLINE static Ints high_pairs(Ints a, Ints b) {
        return pairs(reinterpret_cast<const std::int16_t*>(&a) + kInts,
                     reinterpret_cast<const std::int16_t*>(&b) + kInts);
    }
#endif
    DPREG_HERE DPREG_INLINE static Wide widened(Ints a) {
        using Half = __attribute__((vector_size(16))) std::int32_t;
        using Long = __attribute__((vector_size(32))) std::int64_t;
        return reinterpret_cast<Wide>(__builtin_convertvector(reinterpret_cast<Half>(a), Long));
    }
    /// As if not signed.
    DPREG_HERE DPREG_INLINE static Wide widened_squares(Ints a) {
        return __builtin_convertvector(a, Wide);
    }
    DPREG_HERE DPREG_INLINE static Ints folded(Ints a) { return a; }
    DPREG_HERE DPREG_INLINE static void load_columns(const std::int16_t* const* rows,
                                                     std::size_t from, Ints* pairs) {
        const auto a = load(rows[0] + from);
        const auto b = load(rows[1] + from);
        const auto c = load(rows[2] + from);
        const auto d = load(rows[3] + from);
        const auto ab = DPREG_SHUFFLE(a, b, 0, 4, 1, 5);
        const auto cd = DPREG_SHUFFLE(c, d, 0, 4, 1, 5);
        const auto rest_ab = DPREG_SHUFFLE(a, b, 2, 6, 3, 7);
        const auto rest_cd = DPREG_SHUFFLE(c, d, 2, 6, 3, 7);
        pairs[0] = DPREG_SHUFFLE(ab, cd, 0, 1, 4, 5);
        pairs[1] = DPREG_SHUFFLE(ab, cd, 2, 3, 6, 7);
        pairs[2] = DPREG_SHUFFLE(rest_ab, rest_cd, 0, 1, 4, 5);
        pairs[3] = DPREG_SHUFFLE(rest_ab, rest_cd, 2, 3, 6, 7);
    }
    /// To what entries of low_pairs and high_pairs add up to, in the order of the row.
    DPREG_HERE DPREG_INLINE static void add_pairs(std::int64_t* to, Wide low, Wide high) {
        add_to(to, low);
        add_to(to + 4, high);
    }
};

#if DPREG_BYTES >= 32
struct Fours {
    __m256i all;
    DPREG_HERE DPREG_INLINE Fours operator+(const Fours& other) const {
        return {_mm256_add_epi64(all, other.all)};
    }
};

struct Middle {
    using Ints = __attribute__((vector_size(32))) std::uint32_t;
    struct Wide {
        __m256i first, second;
        DPREG_HERE DPREG_INLINE Wide operator+(const Wide& other) const {
            return {_mm256_add_epi64(first, other.first), _mm256_add_epi64(second, other.second)};
        }
    };
    static constexpr std::size_t kShorts = 16;
    static constexpr std::size_t kInts = 8;

    DPREG_HERE DPREG_INLINE static __m256i bits(Ints a) { return reinterpret_cast<__m256i>(a); }
    DPREG_HERE DPREG_INLINE static Ints ints(__m256i a) { return reinterpret_cast<Ints>(a); }
    DPREG_HERE DPREG_INLINE static Ints load(const void* from) {
        return ints(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
    }
    DPREG_HERE DPREG_INLINE static Ints fill(std::int32_t pair) {
        return ints(_mm256_set1_epi32(pair));
    }
    DPREG_HERE DPREG_INLINE static Ints add_products(Ints sum, Ints a, Ints b) {
#if DPREG_VNNI
        return ints(_mm256_dpwssd_epi32(bits(sum), bits(a), bits(b)));
#else
        return sum + ints(_mm256_madd_epi16(bits(a), bits(b)));
#endif
    }
    DPREG_HERE DPREG_INLINE static Ints low_pairs(Ints a, Ints b) {
        return ints(_mm256_unpacklo_epi16(bits(a), bits(b)));
    }
    DPREG_HERE DPREG_INLINE static Ints high_pairs(Ints a, Ints b) {
        return ints(_mm256_unpackhi_epi16(bits(a), bits(b)));
    }
    DPREG_HERE DPREG_INLINE static Wide widened(Ints a) {
        return {_mm256_cvtepi32_epi64(_mm256_castsi256_si128(bits(a))),
                _mm256_cvtepi32_epi64(_mm256_extracti128_si256(bits(a), 1))};
    }
    DPREG_HERE DPREG_INLINE static Wide widened_squares(Ints a) {
        return {_mm256_cvtepu32_epi64(_mm256_castsi256_si128(bits(a))),
                _mm256_cvtepu32_epi64(_mm256_extracti128_si256(bits(a), 1))};
    }
    DPREG_HERE DPREG_INLINE static __m256i load_parts(const std::int16_t* const* rows,
                                                      std::size_t from) {
        const auto part = [&](std::size_t i) DPREG_HERE {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + from));
        };
        return _mm256_inserti128_si256(_mm256_castsi128_si256(part(0)), part(4), 1);
    }
    DPREG_HERE DPREG_INLINE static void load_columns(const std::int16_t* const* rows,
                                                     std::size_t from, Ints* pairs) {
        const auto a = load_parts(rows, from);
        const auto b = load_parts(rows + 1, from);
        const auto c = load_parts(rows + 2, from);
        const auto d = load_parts(rows + 3, from);
        const auto ab = _mm256_unpacklo_epi32(a, b);
        const auto cd = _mm256_unpacklo_epi32(c, d);
        const auto rest_ab = _mm256_unpackhi_epi32(a, b);
        const auto rest_cd = _mm256_unpackhi_epi32(c, d);
        pairs[0] = ints(_mm256_unpacklo_epi64(ab, cd));
        pairs[1] = ints(_mm256_unpackhi_epi64(ab, cd));
        pairs[2] = ints(_mm256_unpacklo_epi64(rest_ab, rest_cd));
        pairs[3] = ints(_mm256_unpackhi_epi64(rest_ab, rest_cd));
    }
    DPREG_HERE DPREG_INLINE static Narrow::Ints folded(Ints a) {
        return reinterpret_cast<Narrow::Ints>(_mm256_castsi256_si128(bits(a))) +
               reinterpret_cast<Narrow::Ints>(_mm256_extracti128_si256(bits(a), 1));
    }
    DPREG_HERE DPREG_INLINE static void add_pairs(std::int64_t* to, Wide low, Wide high) {
        add_to(to, Fours{low.first});
        add_to(to + 4, Fours{high.first});
        add_to(to + 8, Fours{low.second});
        add_to(to + 12, Fours{high.second});
    }
};
#endif

#if DPREG_BYTES >= 64
struct Broad {
    using Ints = __attribute__((vector_size(64))) std::uint32_t;
    struct Wide {
        __m512i first, second;
        DPREG_HERE DPREG_INLINE Wide operator+(const Wide& other) const {
            return {_mm512_add_epi64(first, other.first), _mm512_add_epi64(second, other.second)};
        }
    };
    static constexpr std::size_t kShorts = 32;
    static constexpr std::size_t kInts = 16;

    DPREG_HERE DPREG_INLINE static __m512i bits(Ints a) { return reinterpret_cast<__m512i>(a); }
    DPREG_HERE DPREG_INLINE static Ints ints(__m512i a) { return reinterpret_cast<Ints>(a); }
    DPREG_HERE DPREG_INLINE static Ints load(const void* from) {
        return ints(_mm512_loadu_si512(from));
    }
    DPREG_HERE DPREG_INLINE static Ints fill(std::int32_t pair) {
        return ints(_mm512_set1_epi32(pair));
    }
    DPREG_HERE DPREG_INLINE static Ints add_products(Ints sum, Ints a, Ints b) {
#if DPREG_VNNI
        return ints(_mm512_dpwssd_epi32(bits(sum), bits(a), bits(b)));
#else
        return sum + ints(_mm512_madd_epi16(bits(a), bits(b)));
#endif
    }
    DPREG_HERE DPREG_INLINE static Ints low_pairs(Ints a, Ints b) {
        return ints(_mm512_unpacklo_epi16(bits(a), bits(b)));
    }
    DPREG_HERE DPREG_INLINE static Ints high_pairs(Ints a, Ints b) {
        return ints(_mm512_unpackhi_epi16(bits(a), bits(b)));
    }
    DPREG_HERE DPREG_INLINE static Wide widened(Ints a) {
        return {_mm512_cvtepi32_epi64(_mm512_castsi512_si256(bits(a))),
                _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(bits(a), 1))};
    }
    DPREG_HERE DPREG_INLINE static Wide widened_squares(Ints a) {
        return {_mm512_cvtepu32_epi64(_mm512_castsi512_si256(bits(a))),
                _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(bits(a), 1))};
    }
    DPREG_HERE DPREG_INLINE static __m512i load_parts(const std::int16_t* const* rows,
                                                      std::size_t from) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(Middle::load_parts(rows, from)),
                                  Middle::load_parts(rows + 8, from), 1);
    }
    DPREG_HERE DPREG_INLINE static void load_columns(const std::int16_t* const* rows,
                                                     std::size_t from, Ints* pairs) {
        const auto a = load_parts(rows, from);
        const auto b = load_parts(rows + 1, from);
        const auto c = load_parts(rows + 2, from);
        const auto d = load_parts(rows + 3, from);
        const auto ab = _mm512_unpacklo_epi32(a, b);
        const auto cd = _mm512_unpacklo_epi32(c, d);
        const auto rest_ab = _mm512_unpackhi_epi32(a, b);
        const auto rest_cd = _mm512_unpackhi_epi32(c, d);
        pairs[0] = ints(_mm512_unpacklo_epi64(ab, cd));
        pairs[1] = ints(_mm512_unpackhi_epi64(ab, cd));
        pairs[2] = ints(_mm512_unpacklo_epi64(rest_ab, rest_cd));
        pairs[3] = ints(_mm512_unpackhi_epi64(rest_ab, rest_cd));
    }
    DPREG_HERE DPREG_INLINE static Narrow::Ints folded(Ints a) {
        return Middle::folded(Middle::ints(_mm512_castsi512_si256(bits(a))) +
                              Middle::ints(_mm512_extracti64x4_epi64(bits(a), 1)));
    }
    DPREG_HERE DPREG_INLINE static void add_pairs(std::int64_t* to, Wide low, Wide high) {
        Middle::add_pairs(to, halves(low.first), halves(high.first));
        Middle::add_pairs(to + 16, halves(low.second), halves(high.second));
    }
    DPREG_HERE DPREG_INLINE static Middle::Wide halves(__m512i a) {
        return {_mm512_castsi512_si256(a), _mm512_extracti64x4_epi64(a, 1)};
    }
};
#endif
