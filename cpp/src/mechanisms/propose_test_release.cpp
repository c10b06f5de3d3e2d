#include "dpreg/mechanisms/propose_test_release.hpp"

#include <cmath>

#include "dpreg/error.hpp"
#include "dpreg/noise/discrete.hpp"

namespace dpreg {

std::int64_t release_threshold(double epsilon, double delta) {
    check_noise_parameter(epsilon);
    require(delta > 0.0 && delta < 1.0, "delta must be in (0, 1)");
    // Pr[X > T + 1] = Pr[X >= T + 2] = e^{-epsilon (T + 2)} / (1 + e^{-epsilon}).  The guess
    // is moved up until the tail, enlarged by its rounding error, is small enough.
    const double guess = -(std::log(delta) + std::log1p(std::exp(-epsilon))) / epsilon;
    auto tail_starts = static_cast<std::int64_t>(std::fmax(1.0, std::ceil(guess) - 1.0));
    while (discrete_laplace_tail(tail_starts, epsilon) * (1.0 + 1e-9) > delta) ++tail_starts;
    return tail_starts - 2;
}

bool passes_release_test(std::int64_t distance, double epsilon, double delta, BitSource& bits) {
    const auto fraction = fraction_at_most(epsilon);
    const double used =
        static_cast<double>(fraction.numerator) / static_cast<double>(fraction.denominator);
    return distance + discrete_laplace(fraction, bits) > release_threshold(used, delta);
}

}  // namespace dpreg
