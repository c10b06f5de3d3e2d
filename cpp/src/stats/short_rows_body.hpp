// The kernels of short_rows.cpp on registers of DPREG_BYTES bytes; included once for each
// instruction set, inside its namespace.  DPREG_HERE switches on its instructions, in each
// function and lambda by itself; DPREG_VNNI says whether VNNI is among them.
//
// Registers wider than what is left of a row hand over to narrower ones, kPanel being the least.

template <class Wide>
DPREG_HERE DPREG_INLINE void add_to(std::int64_t* to, const Wide& terms) {
    Wide sum;
    std::memcpy(&sum, to, sizeof sum);
    sum = sum + terms;
    std::memcpy(to, &sum, sizeof sum);
}

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

/// Calls step.template on<Register>(j) for parts of `size` entries, widest first; `Entries` says
/// which entries count: kShorts or kInts of the registers.
template <class Step>
DPREG_HERE DPREG_INLINE void over_shorts(std::size_t from, std::size_t size, const Step& step) {
    std::size_t j = from;
#if DPREG_BYTES >= 64
    for (; j + Broad::kShorts <= size; j += Broad::kShorts) step(Broad{}, j);
#endif
#if DPREG_BYTES >= 32
    for (; j + Middle::kShorts <= size; j += Middle::kShorts) step(Middle{}, j);
#endif
    for (; j < size; j += Narrow::kShorts) step(Narrow{}, j);
}

template <class Step>
DPREG_HERE DPREG_INLINE void over_ints(std::size_t from, std::size_t size, const Step& step) {
    std::size_t j = from;
#if DPREG_BYTES >= 64
    for (; j + Broad::kInts <= size; j += Broad::kInts) step(Broad{}, j);
#endif
#if DPREG_BYTES >= 32
    for (; j + Middle::kInts <= size; j += Middle::kInts) step(Middle{}, j);
#endif
    for (; j < size; j += Narrow::kInts) step(Narrow{}, j);
}

// Rows whose dots are taken together, and the sums of each: with both parts of theta, and itself.
constexpr std::size_t kDotRows = 4;
constexpr std::size_t kDotSums = 3;

struct DotSums {
    Narrow::Ints of[kDotRows][kDotSums];
};

using FourDoubles = __attribute__((vector_size(32))) double;

/// The sums of four registers.
DPREG_HERE DPREG_INLINE FourDoubles sums_of(Narrow::Ints a, Narrow::Ints b, Narrow::Ints c,
                                            Narrow::Ints d) {
    using Four = __attribute__((vector_size(16))) std::int32_t;
    const auto ab = DPREG_SHUFFLE(a, b, 0, 4, 1, 5) + DPREG_SHUFFLE(a, b, 2, 6, 3, 7);
    const auto cd = DPREG_SHUFFLE(c, d, 0, 4, 1, 5) + DPREG_SHUFFLE(c, d, 2, 6, 3, 7);
    const auto sums = DPREG_SHUFFLE(ab, cd, 0, 1, 4, 5) + DPREG_SHUFFLE(ab, cd, 2, 3, 6, 7);
    return __builtin_convertvector(reinterpret_cast<Four>(sums), FourDoubles);
}

/// Adds to `sums` what some columns of kDotRows rows add.
template <class Register>
DPREG_HERE void add_dots(const std::int16_t* const* q, const std::int16_t* high,
                         const std::int16_t* low, std::size_t from, std::size_t size,
                         DotSums& sums) {
    typename Register::Ints own[kDotRows][kDotSums] = {};
    for (std::size_t j = from; j < size; j += Register::kShorts) {
        const auto upper = Register::load(high + j);
        const auto lower = Register::load(low + j);
        for (std::size_t i = 0; i < kDotRows; ++i) {
            const auto row = Register::load(q[i] + j);
            own[i][0] = Register::add_products(own[i][0], row, upper);
            own[i][1] = Register::add_products(own[i][1], row, lower);
            own[i][2] = Register::add_products(own[i][2], row, row);
        }
    }
    for (std::size_t i = 0; i < kDotRows; ++i) {
        for (std::size_t k = 0; k < kDotSums; ++k) sums.of[i][k] += Register::folded(own[i][k]);
    }
}

DPREG_HERE void dots(const std::int16_t* q, std::size_t stride, std::size_t rows,
                     const std::int16_t* high, const std::int16_t* low, double* found,
                     double* squares) {
    for (std::size_t first = 0; first < rows; first += kDotRows) {
        const std::int16_t* at[kDotRows];
        for (std::size_t i = 0; i < kDotRows; ++i) {
            at[i] = q + std::min(first + i, rows - 1) * stride;
        }
        FourDoubles totals[kDotSums] = {};
        for (std::size_t from = 0; from < stride; from += kDotColumns) {
            const std::size_t size = std::min(stride, from + kDotColumns);
            DotSums sums{};
            std::size_t j = from;
#if DPREG_BYTES >= 64
            const std::size_t broad = (size - j) / Broad::kShorts * Broad::kShorts;
            if (broad > 0) add_dots<Broad>(at, high, low, j, j + broad, sums);
            j += broad;
#endif
#if DPREG_BYTES >= 32
            const std::size_t middle = (size - j) / Middle::kShorts * Middle::kShorts;
            if (middle > 0) add_dots<Middle>(at, high, low, j, j + middle, sums);
            j += middle;
#endif
            if (j < size) add_dots<Narrow>(at, high, low, j, size, sums);
            for (std::size_t k = 0; k < kDotSums; ++k) {
                totals[k] += sums_of(sums.of[0][k], sums.of[1][k], sums.of[2][k], sums.of[3][k]);
            }
        }
        // There is room for kShortRows.
        const FourDoubles both = totals[0] * kLowSteps + totals[1];
        std::memcpy(found + first, &both, sizeof both);
        std::memcpy(squares + first, &totals[2], sizeof totals[2]);
    }
}

/// totals += sum of p_i q_i; each group of kPairs pairs fits in 32 bits.
template <std::size_t kPairs>
DPREG_HERE void add_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                              const std::int16_t* p, std::int64_t* totals) {
    over_shorts(0, stride, [&](auto kind, std::size_t j) DPREG_HERE {
        using Register = decltype(kind);
        typename Register::Wide low{};
        typename Register::Wide high{};
        for (std::size_t first = 0; first < rows; first += 2 * kPairs) {
            typename Register::Ints low_sum{};
            typename Register::Ints high_sum{};
            const std::size_t last = std::min(rows, first + 2 * kPairs);
            for (std::size_t i = first; i < last; i += 2) {
                // The last of an odd number of rows stands beside itself, whose p is 0.
                const std::int16_t* row = q + i * stride + j;
                const auto a = Register::load(row);
                const auto b = Register::load(i + 1 < rows ? row + stride : row);
                std::int32_t pair;
                std::memcpy(&pair, p + i, sizeof pair);
                const auto by = Register::fill(pair);
                low_sum = Register::add_products(low_sum, Register::low_pairs(a, b), by);
                high_sum = Register::add_products(high_sum, Register::high_pairs(a, b), by);
            }
            low = low + Register::widened(low_sum);
            high = high + Register::widened(high_sum);
        }
        Register::add_pairs(totals + j, low, high);
    });
}

DPREG_HERE void multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                          const std::int16_t* p, std::int64_t* totals) {
    add_multiples<kFullPairs>(q, stride, rows, p, totals);
}

DPREG_HERE void half_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                               const std::int16_t* p, std::int64_t* totals) {
    add_multiples<2 * kFullPairs>(q, stride, rows, p, totals);
}

/// Writes rows 2 k and 2 k + 1 side by side, entry by entry.
DPREG_HERE void pack(const std::int16_t* q, std::size_t stride, std::size_t rows,
                     std::int32_t* packed) {
    for (std::size_t i = 0; i < rows; i += 2, packed += stride) {
        const std::int16_t* row = q + i * stride;
        for (std::size_t j = 0; j < stride; j += Narrow::kShorts) {
            const auto a = Narrow::load(row + j);
            const auto b = i + 1 < rows ? Narrow::load(row + stride + j) : Narrow::Ints{};
            const auto low = Narrow::low_pairs(a, b);
            const auto high = Narrow::high_pairs(a, b);
            std::memcpy(packed + j, &low, sizeof low);
            std::memcpy(packed + j + Narrow::kInts, &high, sizeof high);
        }
    }
}

// Sums of more entries than these would not stay in registers.
constexpr std::size_t kGramTile = 4;

DPREG_HERE void gram(const std::int32_t* packed, std::size_t stride, std::size_t groups,
                     std::int64_t* products, std::int64_t* squares) {
    for (std::size_t i = 0; i < stride; i += kGramTile) {
        over_ints(i / kPanel * kPanel, stride, [&](auto kind, std::size_t j) DPREG_HERE {
            using Register = decltype(kind);
            typename Register::Wide total[kGramTile];
            for (std::size_t k = 0; k < kGramTile; ++k) {
                std::memcpy(&total[k], products + (i + k) * stride + j, sizeof total[k]);
            }
            const std::int32_t* pair = packed;
            for (std::size_t group = 0; group < groups; ++group) {
                typename Register::Ints sum[kGramTile] = {};
                for (std::size_t r = 0; r < kGramPairs; ++r, pair += stride) {
                    const auto right = Register::load(pair + j);
                    for (std::size_t k = 0; k < kGramTile; ++k) {
                        sum[k] = Register::add_products(sum[k], Register::fill(pair[i + k]), right);
                    }
                }
                for (std::size_t k = 0; k < kGramTile; ++k) {
                    total[k] = total[k] + Register::widened(sum[k]);
                }
            }
            for (std::size_t k = 0; k < kGramTile; ++k) {
                std::memcpy(products + (i + k) * stride + j, &total[k], sizeof total[k]);
            }
        });
    }
    over_ints(0, stride, [&](auto kind, std::size_t j) DPREG_HERE {
        using Register = decltype(kind);
        const std::int32_t* pair = packed;
        for (std::size_t group = 0; group < groups; ++group) {
            typename Register::Ints sum{};
            for (std::size_t r = 0; r < kGramPairs; ++r, pair += stride) {
                const auto both = Register::load(pair + j);
                sum = Register::add_products(sum, both, both);
            }
            add_to(squares + j, Register::widened_squares(sum));
        }
    });
}
