#include "dpreg/parallel.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

namespace dpreg {

namespace {

thread_local std::size_t threads_of_this_one = 0;

}  // namespace

void use_threads(std::size_t threads) { threads_of_this_one = threads; }

void parallel_ranges(std::size_t count, const std::function<void(std::size_t, std::size_t)>& work,
                     std::size_t least) {
    std::size_t threads = threads_of_this_one;
    if (threads == 0) {
        threads = std::min<std::size_t>(std::thread::hardware_concurrency(), count / least);
    }
    threads = std::min(threads, count);
    if (threads <= 1) {
        if (count > 0) work(0, count);
        return;
    }

    std::vector<std::exception_ptr> failures(threads);
    const auto start_of = [&](std::size_t k) {
        return count / threads * k + std::min(k, count % threads);
    };
    const auto run = [&](std::size_t k) {
        try {
            work(start_of(k), start_of(k + 1));
        } catch (...) {
            failures[k] = std::current_exception();
        }
    };
    std::vector<std::thread> pool;
    pool.reserve(threads - 1);
    std::size_t started = 1;
    try {
        for (; started < threads; ++started) pool.emplace_back(run, started);
    } catch (...) {
        // No more threads or memory are available: the calling thread takes the rest.
    }
    run(0);
    for (std::size_t k = started; k < threads; ++k) run(k);
    for (auto& thread : pool) thread.join();
    for (const auto& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
}

}  // namespace dpreg
