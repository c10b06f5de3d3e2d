#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "dpreg/parallel.hpp"

namespace dpreg {

/// Sums what `add(begin, end, totals)` adds to `size` totals for ranges that cover [0, count);
/// integers, so the order is free.
template <class Add>
std::vector<std::int64_t> sum_over_rows(std::size_t count, std::size_t size, std::size_t threads,
                                        const Add& add) {
    std::vector<std::int64_t> result(size, 0);
    std::mutex guard;
    parallel_ranges(count, threads, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> own(size, 0);
        add(begin, end, own);
        const std::lock_guard<std::mutex> lock(guard);
        for (std::size_t k = 0; k < size; ++k) result[k] += own[k];
    });
    return result;
}

}  // namespace dpreg
