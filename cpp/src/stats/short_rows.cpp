#include "short_rows.hpp"

#include <algorithm>
#include <cstring>

#include "short_registers.hpp"

namespace dpreg {
namespace {

// Pairs of rows times multipliers, 6 (2^14)^2, and products of two entries, 14 (2^14)^2 / 2, stay
// below 2^31; squares, 14 (2^14)^2, below 2^32.
constexpr std::size_t kFullPairs = 3;
constexpr std::size_t kGramPairs = 7;
// What is packed stays in the first-level cache.
constexpr std::size_t kPackedBytes = 24576;

// Sums of more entries than these would not stay in registers.
constexpr std::size_t kGramTile = 4;
// Sums begin at 2^31, so that they are not negative; as much is taken off them in 64 bits.
constexpr std::uint32_t kMiddle = 1U << 31;

constexpr std::int64_t without_middle(std::size_t sums) {
    return -static_cast<std::int64_t>(sums) * kMiddle;
}

/// totals += sum of p_i q_i; each group of kPairs pairs fits in 32 bits.
template <std::size_t kPairs>
struct AddMultiples {
    template <class Widest>
    DPREG_INLINE static void run(const std::int16_t* q, std::size_t stride, std::size_t rows,
                                 const std::int16_t* p, std::int64_t* totals) {
        constexpr std::size_t group = 2 * kPairs;
        const std::int64_t start = without_middle((rows + group - 1) / group);
        over_parts<Widest, 2>(0, stride, [&](auto kind, std::size_t j) DPREG_INLINE_LAMBDA {
            using Register = decltype(kind);
            typename Register::Wide low(start);
            typename Register::Wide high(start);
            for (std::size_t first = 0; first < rows; first += group) {
                auto low_sum = Register::fill(kMiddle);
                auto high_sum = Register::fill(kMiddle);
                const std::size_t last = std::min(rows, first + group);
                for (std::size_t i = first; i < last; i += 2) {
                    // The last of an odd number of rows stands beside itself, whose p is 0.
                    const std::int16_t* row = q + i * stride + j;
                    const auto a = Register::load(row);
                    const auto b = Register::load(i + 1 < rows ? row + stride : row);
                    const auto by = Register::fill(pair_at(p + i));
                    Register::add_products(low_sum, Register::template pairs<false>(a, b), by);
                    Register::add_products(high_sum, Register::template pairs<true>(a, b), by);
                }
                low.add(low_sum);
                high.add(high_sum);
            }
            Register::add_pairs(totals + j, low, high);
        });
    }
};

/// Writes rows 2 k and 2 k + 1 side by side, entry by entry.
void pack(const std::int16_t* q, std::size_t stride, std::size_t rows, std::uint32_t* packed) {
    for (std::size_t i = 0; i < rows; i += 2, packed += stride) {
        const std::int16_t* row = q + i * stride;
        for (std::size_t j = 0; j < stride; j += kPanel) {
            const auto a = Narrow::load(row + j);
            const auto b = i + 1 < rows ? Narrow::load(row + stride + j) : Narrow::Ints{};
            const Narrow::Ints both[2] = {Narrow::pairs<false>(a, b), Narrow::pairs<true>(a, b)};
            std::memcpy(packed + j, both, sizeof both);
        }
    }
}

struct AddGram {
    template <class Widest>
    DPREG_INLINE static void run(const std::uint32_t* packed, std::size_t stride,
                                 std::size_t groups, std::int64_t* products,
                                 std::int64_t* squares) {
        for (std::size_t i = 0; i < stride; i += kGramTile) {
            over_parts<Widest, 4>(
                i / kPanel * kPanel, stride, [&](auto kind, std::size_t j) DPREG_INLINE_LAMBDA {
                    add_tile<decltype(kind)>(packed, stride, groups, i, j, products);
                });
        }
        over_parts<Widest, 4>(0, stride, [&](auto kind, std::size_t j) DPREG_INLINE_LAMBDA {
            using Register = decltype(kind);
            typename Register::Wide total(0);
            const std::uint32_t* pair = packed + j;
            for (std::size_t group = 0; group < groups; ++group) {
                typename Register::Ints sum{};
                for (std::size_t r = 0; r < kGramPairs; ++r, pair += stride) {
                    const auto both = Register::load(pair);
                    Register::add_products(sum, both, both);
                }
                total.add(sum);
            }
            total.add_to(squares + j);
        });
    }

    /// Products of kGramTile entries from i on with those from j on.
    template <class Register>
    DPREG_INLINE static void add_tile(const std::uint32_t* packed, std::size_t stride,
                                      std::size_t groups, std::size_t i, std::size_t j,
                                      std::int64_t* products) {
        using Wide = typename Register::Wide;
        const Wide start(without_middle(groups));
        Wide total[kGramTile] = {start, start, start, start};
        for (std::size_t group = 0; group < groups; ++group) {
            typename Register::Ints sum[kGramTile];
            for (auto& s : sum) s = Register::fill(kMiddle);
            for (std::size_t r = 0; r < kGramPairs; ++r, packed += stride) {
                const auto right = Register::load(packed + j);
                for (std::size_t k = 0; k < kGramTile; ++k) {
                    Register::add_products(sum[k], Register::fill(packed[i + k]), right);
                }
            }
            for (std::size_t k = 0; k < kGramTile; ++k) total[k].add(sum[k]);
        }
        for (std::size_t k = 0; k < kGramTile; ++k) {
            total[k].add_to(products + (i + k) * stride + j);
        }
    }
};

}  // namespace

void add_short_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                         const std::int16_t* p, Totals& totals) {
    constexpr ShortKernel<AddMultiples<kFullPairs>> kernel;
    kernel(q, stride, rows, p, totals.data());
}

void add_half_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                        const std::int16_t* p, Totals& totals) {
    constexpr ShortKernel<AddMultiples<2 * kFullPairs>> kernel;
    kernel(q, stride, rows, p, totals.data());
}

ShortGram::ShortGram(std::size_t stride)
    : stride_(stride),
      groups_(std::max<std::size_t>(
          1, kPackedBytes / (kGramPairs * std::max<std::size_t>(stride, 1) * sizeof packed_[0]))),
      packed_(groups_ * kGramPairs * stride),
      squares_(stride, 0),
      products_(stride * stride, 0) {}

void ShortGram::add(const std::int16_t* q, std::size_t rows) {
    constexpr ShortKernel<AddGram> kernel;
    const std::size_t most = 2 * kGramPairs * groups_;
    for (std::size_t first = 0; first < rows; first += most) {
        const std::size_t count = std::min(most, rows - first);
        const std::size_t pairs = (count + 1) / 2;
        const std::size_t groups = (pairs + kGramPairs - 1) / kGramPairs;
        pack(q + first * stride_, stride_, count, packed_.data());
        std::fill(packed_.data() + pairs * stride_, packed_.data() + groups * kGramPairs * stride_,
                  0);
        kernel(packed_.data(), stride_, groups, products_.data(), squares_.data());
    }
}

void ShortGram::add_to(std::vector<std::int64_t>& gram, std::size_t width) const {
    for (std::size_t i = 0; i < width; ++i) {
        gram[i * width + i] += squares_[i];
        for (std::size_t j = i + 1; j < width; ++j)
            gram[i * width + j] += products_[i * stride_ + j];
    }
}

}  // namespace dpreg
