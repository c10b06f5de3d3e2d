#include <algorithm>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dpreg/parallel.hpp"

using namespace dpreg;

TEST(ranges_cover_every_count_once) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, SIZE_MAX}) {
        for (const std::size_t threads : {std::size_t{1}, std::size_t{3}, std::size_t{8}}) {
            std::mutex turn;
            std::vector<std::pair<std::size_t, std::size_t>> ranges;
            use_threads(threads);
            parallel_ranges(count, [&](std::size_t begin, std::size_t end) {
                const std::lock_guard<std::mutex> alone(turn);
                ranges.emplace_back(begin, end);
            });
            std::sort(ranges.begin(), ranges.end());
            CHECK(ranges.size() == std::min(count, threads));
            std::size_t covered = 0;
            for (const auto& [begin, end] : ranges) {
                CHECK(begin == covered && end > begin);
                covered = end;
            }
            CHECK(covered == count);
        }
    }
}

TEST(a_thread_has_its_own_number_of_threads) {
    const auto used = [] {
        std::mutex turn;
        std::size_t ranges = 0;
        parallel_ranges(1000, [&](std::size_t, std::size_t) {
            const std::lock_guard<std::mutex> alone(turn);
            ++ranges;
        });
        return ranges;
    };
    use_threads(0);
    const std::size_t processors = used();
    use_threads(3);
    CHECK(used() == 3);
    std::size_t elsewhere = 0;
    std::thread([&] { elsewhere = used(); }).join();
    CHECK(elsewhere == processors);
    use_threads(0);
    CHECK(used() == processors);
}

TEST(no_thread_is_started_for_less_than_it_should_have) {
    const auto used = [](std::size_t count) {
        std::mutex turn;
        std::size_t ranges = 0;
        const auto work = [&](std::size_t, std::size_t) {
            const std::lock_guard<std::mutex> alone(turn);
            ++ranges;
        };
        parallel_ranges(count, work, 100);
        return ranges;
    };
    use_threads(0);
    CHECK(used(0) == 0 && used(1) == 1 && used(199) == 1);
    CHECK(used(200) == std::min(2U, std::max(1U, std::thread::hardware_concurrency())));
    use_threads(3);
    CHECK(used(199) == 3);
    use_threads(0);
}
