#pragma once

#include <cstdint>

namespace dpreg {

#ifndef __SIZEOF_INT128__
#error "dpreg needs a compiler with 128-bit integers (gcc or clang on a 64-bit machine)"
#endif

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

}  // namespace dpreg
