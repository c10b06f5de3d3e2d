#include "short_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dpreg/linalg/simd.hpp"
#if DPREG_X86
#include <immintrin.h>
#elif DPREG_NEON
#include <arm_neon.h>
#endif

namespace dpreg {
namespace {

/// Steps of the low part of a coefficient; a step of the high part is as many.
constexpr int kLowBits = 12;
constexpr double kLowSteps = 1 << kLowBits;
constexpr int kThetaBits = 26;
// The low part of theta is at most 2^11 an entry: so many columns times a row stay below 2^31.
constexpr std::size_t kDotColumns = 2048;
// Rows of no more entries are turned so that each has a lane; longer ones are added up by
// themselves.
constexpr std::size_t kShortStride = 32;
// Pairs of rows times multipliers, 6 (2^14)^2, and products of two entries, 14 (2^14)^2 / 2, stay
// below 2^31; squares, 14 (2^14)^2, below 2^32.
constexpr std::size_t kFullPairs = 3;
constexpr std::size_t kGramPairs = 7;
// What is packed stays in the first-level cache.
constexpr std::size_t kPackedBytes = 24576;

namespace portable {
#define DPREG_HERE
#define DPREG_BYTES 16
#define DPREG_VNNI 0
#include "short_rows_body.hpp"
#undef DPREG_HERE
#undef DPREG_BYTES
}  // namespace portable

#if DPREG_X86
namespace avx2 {
#define DPREG_HERE DPREG_AVX2
#define DPREG_BYTES 32
#include "short_rows_body.hpp"
#undef DPREG_HERE
#undef DPREG_BYTES
}  // namespace avx2

namespace avx512 {
#define DPREG_HERE DPREG_AVX512
#define DPREG_BYTES 64
#include "short_rows_body.hpp"
#undef DPREG_HERE
#undef DPREG_VNNI
}  // namespace avx512

namespace vnni {
#define DPREG_HERE DPREG_AVX512_VNNI
#define DPREG_VNNI 1
#include "short_rows_body.hpp"
}  // namespace vnni
#else
namespace avx2 = portable;
namespace avx512 = portable;
namespace vnni = portable;
#endif

template <class Function>
constexpr Kernel<Function> all_of(Function on_portable, Function on_avx2, Function on_avx512,
                                  Function on_vnni) {
    return {{on_portable, on_avx2, on_avx512, on_vnni}};
}

#define DPREG_ALL(name) all_of(portable::name, avx2::name, avx512::name, vnni::name)
constexpr auto dots_kernel = DPREG_ALL(dots);
constexpr auto multiples_kernel = DPREG_ALL(multiples);
constexpr auto half_multiples_kernel = DPREG_ALL(half_multiples);
constexpr auto pack_kernel = DPREG_ALL(pack);
constexpr auto gram_kernel = DPREG_ALL(gram);

}  // namespace

ShortTheta short_theta(const std::vector<double>& theta, std::size_t stride) {
    double square = 0.0;
    for (const double value : theta) square += value * value;
    ShortTheta result{Shorts(stride, 0), Shorts(stride, 0), std::nan("")};
    if (!std::isfinite(square)) return result;
    int exponent = 0;
    std::frexp(std::sqrt(square), &exponent);
    for (std::size_t j = 0; j < theta.size(); ++j) {
        const auto steps = std::llrint(std::ldexp(theta[j], kThetaBits - exponent));
        const auto high = (steps + (1 << (kLowBits - 1))) >> kLowBits;
        result.high[j] = static_cast<std::int16_t>(high);
        result.low[j] = static_cast<std::int16_t>(steps - high * (1 << kLowBits));
    }
    result.step = std::ldexp(1.0, exponent - kThetaBits);
    return result;
}

void short_dots(const std::int16_t* q, std::size_t stride, std::size_t rows,
                const ShortTheta& theta, double* dots, double* squares) {
    dots_kernel(q, stride, rows, theta.high.data(), theta.low.data(), dots, squares);
}

void add_short_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                         const std::int16_t* p, Totals& totals) {
    multiples_kernel(q, stride, rows, p, totals.data());
}

void add_half_multiples(const std::int16_t* q, std::size_t stride, std::size_t rows,
                        const std::int16_t* p, Totals& totals) {
    half_multiples_kernel(q, stride, rows, p, totals.data());
}

ShortGram::ShortGram(std::size_t stride)
    : stride_(stride),
      groups_(std::max<std::size_t>(
          1, kPackedBytes / (kGramPairs * std::max<std::size_t>(stride, 1) * sizeof packed_[0]))),
      packed_(groups_ * kGramPairs * stride),
      squares_(stride, 0),
      products_(stride * stride, 0) {}

void ShortGram::add(const std::int16_t* q, std::size_t rows) {
    const std::size_t most = 2 * kGramPairs * groups_;
    for (std::size_t first = 0; first < rows; first += most) {
        const std::size_t count = std::min(most, rows - first);
        const std::size_t pairs = (count + 1) / 2;
        const std::size_t groups = (pairs + kGramPairs - 1) / kGramPairs;
        pack_kernel(q + first * stride_, stride_, count, packed_.data());
        std::fill(packed_.data() + pairs * stride_, packed_.data() + groups * kGramPairs * stride_,
                  0);
        gram_kernel(packed_.data(), stride_, groups, products_.data(), squares_.data());
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
