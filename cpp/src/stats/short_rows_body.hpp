// The kernels of short_rows.cpp on registers of DPREG_BYTES bytes; included once for each
// instruction set, inside its namespace.  DPREG_HERE switches on its instructions, in each
// function and lambda by itself; DPREG_VNNI says whether VNNI is among them.
//
// Registers wider than what is left of a row hand over to narrower ones, kPanel being the least.

#include "short_registers_body.hpp"

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

/// Four of the integers at `sums`.
DPREG_HERE DPREG_INLINE FourDoubles four_of(const void* sums, std::size_t from) {
    using Four = __attribute__((vector_size(16))) std::int32_t;
    Four part;
    std::memcpy(&part, static_cast<const char*>(sums) + from * sizeof(std::int32_t), sizeof part);
    return __builtin_convertvector(part, FourDoubles);
}

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

/// Dots of short rows, one row a lane.
template <class Register>
DPREG_HERE void dots_of_short(const std::int16_t* q, std::size_t stride, std::size_t rows,
                              const std::int16_t* high, const std::int16_t* low, double* found,
                              double* squares) {
    constexpr std::size_t lanes = Register::kInts;
    for (std::size_t first = 0; first < rows; first += lanes) {
        const std::int16_t* at[lanes];
        for (std::size_t i = 0; i < lanes; ++i) at[i] = q + std::min(first + i, rows - 1) * stride;
        typename Register::Ints sums[kDotSums] = {};
        for (std::size_t j = 0; j < stride; j += Narrow::kShorts) {
            typename Register::Ints pairs[Narrow::kInts];
            Register::load_columns(at, j, pairs);
            for (std::size_t k = 0; k < Narrow::kInts; ++k) {
                std::int32_t upper;
                std::int32_t lower;
                std::memcpy(&upper, high + j + 2 * k, sizeof upper);
                std::memcpy(&lower, low + j + 2 * k, sizeof lower);
                sums[0] = Register::add_products(sums[0], pairs[k], Register::fill(upper));
                sums[1] = Register::add_products(sums[1], pairs[k], Register::fill(lower));
                sums[2] = Register::add_products(sums[2], pairs[k], pairs[k]);
            }
        }
        // There is room for kShortRows.
        for (std::size_t i = 0; i < lanes; i += Narrow::kInts) {
            const FourDoubles both = four_of(&sums[0], i) * kLowSteps + four_of(&sums[1], i);
            const FourDoubles square = four_of(&sums[2], i);
            std::memcpy(found + first + i, &both, sizeof both);
            std::memcpy(squares + first + i, &square, sizeof square);
        }
    }
}

#if DPREG_BYTES >= 64
using Widest = Broad;
#elif DPREG_BYTES >= 32
using Widest = Middle;
#else
using Widest = Narrow;
#endif

DPREG_HERE void dots(const std::int16_t* q, std::size_t stride, std::size_t rows,
                     const std::int16_t* high, const std::int16_t* low, double* found,
                     double* squares) {
    if (stride <= kShortStride) {
        dots_of_short<Widest>(q, stride, rows, high, low, found, squares);
        return;
    }
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
