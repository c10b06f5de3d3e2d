#include <cstring>
#include <thread>
#include <vector>

#include "check.hpp"
#include "dpreg/recycled.hpp"

using namespace dpreg;

TEST(memory_in_use_is_not_handed_out_again) {
    std::vector<Recycled> held;
    for (int k = 0; k < 20; ++k) {
        held.push_back(recycled(std::size_t{1} << 17));
        std::memset(held.back().get(), k, std::size_t{1} << 17);
    }
    for (int k = 0; k < 20; ++k) {
        CHECK(static_cast<int>(held[static_cast<std::size_t>(k)][12345]) == k);
    }
}

TEST(memory_that_was_given_back_is_handed_out_again) {
    constexpr std::size_t size = (std::size_t{1} << 17) + 8;
    const std::byte* first = nullptr;
    {
        const auto room = recycled(size);
        first = room.get();
        CHECK(recycled(size).get() != first);
    }
    CHECK(recycled(size).get() == first);
    // Another size, and sizes that are not kept.
    CHECK(recycled(size + 8).get() != first);
    for (const std::size_t other : {std::size_t{0}, std::size_t{8}, std::size_t{1} << 26}) {
        CHECK(recycled(other).get() != nullptr);
    }
}

TEST(memory_may_be_given_back_in_any_thread) {
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
        threads.emplace_back([k] {
            for (int time = 0; time < 200; ++time) {
                auto room = recycled((std::size_t{1} << 16) + static_cast<std::size_t>(time % 7));
                room[0] = room[100] = static_cast<std::byte>(k);
                std::thread([held = std::move(room), k] {
                    CHECK(static_cast<int>(held[100]) == k);
                }).join();
            }
        });
    }
    for (auto& thread : threads) thread.join();
}
