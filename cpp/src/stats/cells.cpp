#include "dpreg/stats/cells.hpp"

#include <algorithm>
#include <cmath>

#include "dpreg/error.hpp"

namespace dpreg {
std::vector<std::int32_t> to_responses(VectorView y, double l1) {
    require(l1 > 0.0 && std::isfinite(l1), "l1 must be finite and greater than 0");
    std::vector<std::int32_t> responses(y.size);
    for (std::size_t i = 0; i < y.size; ++i) {
        responses[i] = to_grid_of(std::clamp(y[i], -l1, l1) / l1, kResponseBits);
    }
    return responses;
}

}  // namespace dpreg
