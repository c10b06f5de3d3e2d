#include <algorithm>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

#include "check.hpp"
#include "dpreg/error.hpp"
#include "dpreg/noise/bits.hpp"
#include "dpreg/noise/samplers.hpp"

using namespace dpreg;

// RFC 8439, section 2.3.2.
TEST(chacha20_follows_the_rfc) {
    const ChaChaKey key{0x03020100, 0x07060504, 0x0b0a0908, 0x0f0e0d0c,
                        0x13121110, 0x17161514, 0x1b1a1918, 0x1f1e1d1c};
    const auto block = chacha20_block(key, 1, {0x09000000, 0x4a000000, 0x00000000});
    const ChaChaBlock expected{0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                               0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                               0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                               0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
    CHECK(block == expected);
}

TEST(system_bits_differ_between_sources) {
    SystemBits a;
    SystemBits b;
    CHECK(!a.seeded());
    CHECK(a.next() != b.next());
}

TEST(test_bits_repeat) {
    TestBits a(7);
    TestBits b(7);
    TestBits c(8);
    CHECK(a.seeded());
    for (int i = 0; i < 1000; ++i) CHECK(a.next() == b.next());
    CHECK(a.next() != c.next());
}

TEST(uniforms_stay_in_range) {
    TestBits bits(1);
    for (int i = 0; i < 10000; ++i) {
        CHECK(uniform_below(std::uint64_t{3}, bits) < 3);
        CHECK(uniform_below((uint128{1} << 100) + 1, bits) <= uint128{1} << 100);
        const double u = uniform_open(bits);
        CHECK(u > 0.0 && u < 1.0);
        CHECK(standard_exponential(bits) > 0.0);
    }
    CHECK(uniform_below(std::uint64_t{1}, bits) == 0);
    CHECK_THROWS(uniform_below(std::uint64_t{0}, bits), InvalidArgument);
}

TEST(discrete_laplace_takes_extreme_scales) {
    TestBits bits(2);
    CHECK(discrete_laplace(fraction_at_most(1e6), bits) == 0);
    for (int i = 0; i < 100; ++i) discrete_laplace(fraction_at_most(1e-12), bits);
    CHECK_THROWS(fraction_at_most(0.0), InvalidArgument);
    CHECK_THROWS(fraction_at_most(-1.0), InvalidArgument);
    CHECK_THROWS(bernoulli_exp(1, 0, bits), InvalidArgument);
}

TEST(threads_that_share_a_source_take_turns) {
    constexpr std::size_t kThreads = 4;
    constexpr std::size_t kWords = 20000;
    TestBits shared(7);
    std::vector<std::vector<std::uint64_t>> drawn(kThreads);
    std::vector<std::thread> threads;
    for (auto& words : drawn) {
        const auto draw = [&shared, &words] {
            for (std::size_t i = 0; i < kWords; ++i) words.push_back(shared.next());
        };
        try {
            threads.emplace_back(draw);
        } catch (const std::system_error&) {
            draw();  // where there are no threads
        }
    }
    for (auto& thread : threads) thread.join();
    std::vector<std::uint64_t> all;
    for (const auto& words : drawn) all.insert(all.end(), words.begin(), words.end());
    TestBits alone(7);
    std::vector<std::uint64_t> expected(all.size());
    for (auto& word : expected) word = alone.next();
    std::sort(all.begin(), all.end());
    std::sort(expected.begin(), expected.end());
    CHECK(all == expected);
}

TEST(slots_that_no_size_counts_are_refused) {
    TestBits bits(4);
    const std::size_t half = std::size_t{1} << (sizeof(std::size_t) * 4);
    CHECK_THROWS(assign_to_slots(0, half, half, bits), InvalidArgument);
    CHECK_THROWS(assign_to_slots(0, 2, SIZE_MAX / 2 + 1, bits), InvalidArgument);
}

TEST(fractions_never_exceed_the_number) {
    for (const double x : {1.0, 0.1, 1e-9, 3.25, 12345.678, 1e-12}) {
        const auto f = fraction_at_most(x);
        const auto value =
            static_cast<long double>(f.numerator) / static_cast<long double>(f.denominator);
        CHECK(value <= static_cast<long double>(x));
        CHECK(value >= static_cast<long double>(x) * (1 - 1e-6L));
    }
}

TEST(assignments_hold_each_unit_at_most_once) {
    TestBits bits(3);
    for (const std::size_t n : {0, 1, 11, 12, 13, 40}) {
        for (const bool slots : {true, false}) {
            const auto a =
                slots ? assign_to_slots(n, 4, 3, bits) : assign_independently(n, 4, bits);
            CHECK(a.offsets.size() == 5 && a.offsets.front() == 0);
            CHECK(a.offsets.back() == a.members.size());
            CHECK(a.members.size() == (slots ? std::min<std::size_t>(n, 12) : n));
            std::vector<int> seen(n, 0);
            for (const auto unit : a.members) {
                CHECK(unit < n);
                CHECK(++seen[unit] == 1);
            }
        }
    }
}
