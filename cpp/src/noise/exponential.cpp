#include "dpreg/noise/exponential.hpp"

#include <cmath>

#include "dpreg/noise/uniform.hpp"

namespace dpreg {

double standard_exponential(BitSource& bits) {
    // U or 1 - U is below 1/2; drawing which one, and then its value, keeps
    // the digits that 1 - U would lose.
    const bool upper_tail = (bits.next() >> 63) != 0;
    const double half = 0.5 * uniform_open(bits);
    return upper_tail ? -std::log(half) : -std::log1p(-half);
}

}  // namespace dpreg
