#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace dpreg {

/// Calls `work(begin, end)` on consecutive ranges that cover [0, count), on as many threads as
/// use_threads says.
///
/// Which range runs where must not matter to the caller: no result of this
/// library depends on the number of threads.  The first exception is rethrown.
/// least: minimum per thread, if use_threads does not set the number of threads.
void parallel_ranges(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work,
                     std::size_t least = 1);

/// Sets the number of threads for calls of the calling thread; 0 (default): one per processor, if
/// there is enough work for each.
void use_threads(std::size_t threads);

/// Minimum number of rows per thread.  Without it fits of 1,000 to 3,000 rows used a tenth more
/// processor time on two processors.
constexpr std::size_t kRowsOfThread = 2000;

/// Sums what `add(begin, end, totals)` adds to `size` totals over ranges that cover [0, count);
/// totals are integers, so the order does not matter.
template <class Add>
std::vector<std::int64_t> sum_over_rows(std::size_t count, std::size_t size, const Add& add) {
    std::vector<std::int64_t> result(size, 0);
    std::mutex guard;
    const auto work = [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> own(size, 0);
        add(begin, end, own);
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t k = 0; k < size; ++k) result[k] += own[k];
    };
    parallel_ranges(count, work, kRowsOfThread);
    return result;
}

}  // namespace dpreg
