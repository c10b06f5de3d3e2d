#include "dpreg/noise/gumbel.hpp"

#include <cmath>

#include "dpreg/noise/exponential.hpp"

namespace dpreg {

double standard_gumbel(BitSource& bits) { return -std::log(standard_exponential(bits)); }

}  // namespace dpreg
