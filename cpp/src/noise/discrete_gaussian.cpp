#include "dpreg/noise/discrete_gaussian.hpp"

#include "dpreg/error.hpp"
#include "dpreg/int128.hpp"
#include "dpreg/noise/bernoulli.hpp"
#include "dpreg/noise/discrete_laplace.hpp"

namespace dpreg {
namespace {

std::int64_t draw(std::uint64_t sigma, BitSource& bits) {
    // A discrete Laplace variable of the same scale, kept with probability
    // exp(-(|y| - sigma)^2 / (2 sigma^2)), which turns its law into the Gaussian one.
    const uint128 denominator = 2 * static_cast<uint128>(sigma) * sigma;
    for (;;) {
        const std::int64_t y = discrete_laplace({1, sigma}, bits);
        const auto magnitude = static_cast<std::uint64_t>(y < 0 ? -y : y);
        const uint128 gap = magnitude > sigma ? magnitude - sigma : sigma - magnitude;
        if (bernoulli_exp(gap * gap, denominator, bits)) return y;
    }
}

}  // namespace

std::vector<std::int64_t> discrete_gaussian(std::uint64_t sigma, std::size_t size,
                                            BitSource& bits) {
    require(sigma >= 1 && sigma <= kLargestGaussianScale, "sigma must be in [1, 2^44]");
    std::vector<std::int64_t> result(size);
    for (auto& x : result) x = draw(sigma, bits);
    return result;
}

}  // namespace dpreg
