#pragma once

#include <cstddef>
#include <functional>

namespace dpreg {

/// Calls `work(begin, end)` on consecutive ranges that cover [0, count), on up
/// to `threads` threads (0: what use_threads says).
///
/// Which range runs where must not matter to the caller: no result of this
/// library depends on the number of threads.  The first exception is rethrown.
void parallel_ranges(std::size_t count, std::size_t threads,
                     const std::function<void(std::size_t, std::size_t)>& work);

/// Calls of the calling thread that ask for 0 threads use so many from now on; 0, as it is at
/// first: one a processor.
void use_threads(std::size_t threads);

}  // namespace dpreg
