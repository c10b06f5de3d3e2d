#include "dpreg/linalg/crossprod.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace dpreg {
namespace {

constexpr std::size_t kRowsInCache = 32;  // rows of A and B that stay in the first-level cache

enum class Blocks : std::uint8_t { kAll, kUpper };

struct Accumulate {
    template <class Lanes>
    DPREG_INLINE static void run(const double* a, const double* b, std::size_t rows, std::size_t wa,
                                 std::size_t wb, double* c, Blocks blocks) {
        // Rows of C held in registers at a time: of wide registers there are more.
        constexpr std::size_t kTile = Lanes::kParts == 1 ? 8 : 4;
        for (std::size_t first = 0; first < rows; first += kRowsInCache) {
            const std::size_t last = std::min(rows, first + kRowsInCache);
            for (std::size_t i = 0; i < wa; i += kTile) {
                const std::size_t from = blocks == Blocks::kUpper ? i / kPanel * kPanel : 0;
                for (std::size_t j = from; j < wb; j += kPanel) {
                    Lanes sum[kTile];
                    for (std::size_t k = 0; k < kTile; ++k) {
                        sum[k] = Lanes::load(c + (i + k) * wb + j);
                    }
                    for (std::size_t r = first; r < last; ++r) {
                        const double* left = a + r * wa + i;
                        const auto right = Lanes::load(b + r * wb + j);
                        for (std::size_t k = 0; k < kTile; ++k) sum[k] += left[k] * right;
                    }
                    for (std::size_t k = 0; k < kTile; ++k) {
                        sum[k].store(c + (i + k) * wb + j);
                    }
                }
            }
        }
    }
};

constexpr LanesKernel<Accumulate> kernel;

}  // namespace

void add_crossprod(const double* a, const double* b, std::size_t rows, std::size_t wa,
                   std::size_t wb, double* c) {
    kernel(a, b, rows, wa, wb, c, Blocks::kAll);
}

void add_gram(const double* a, std::size_t rows, std::size_t width, double* c) {
    kernel(a, a, rows, width, width, c, Blocks::kUpper);
}

}  // namespace dpreg
