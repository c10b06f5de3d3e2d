#include "dpreg/noise/bits.hpp"

#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>

#include "dpreg/error.hpp"

namespace dpreg {
namespace {

std::uint32_t rotate_left(std::uint32_t x, int k) { return (x << k) | (x >> (32 - k)); }

void quarter_round(ChaChaBlock& s, std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    s[a] += s[b];
    s[d] = rotate_left(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotate_left(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotate_left(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotate_left(s[b] ^ s[c], 7);
}

std::atomic<std::uint64_t> fork_generation{0};

void count_forks() {
    // Registered once; a child gets the handler with the memory it inherits.
    static const int registered =
        pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1); });
    if (registered != 0) throw EntropyError("cannot watch for forks, so cannot promise fresh bits");
}

ChaChaKey system_key() {
    ChaChaKey key;
    // All or nothing, up to 256 bytes; in a browser, its crypto.getRandomValues.
    if (getentropy(key.data(), sizeof key) != 0) {
        throw EntropyError("the operating system gave no entropy");
    }
    return key;
}

}  // namespace

ChaChaBlock chacha20_block(const ChaChaKey& key, std::uint32_t counter,
                           const std::array<std::uint32_t, 3>& nonce) {
    const ChaChaBlock start{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1],
                            key[2],     key[3],     key[4],     key[5],     key[6], key[7],
                            counter,    nonce[0],   nonce[1],   nonce[2]};
    ChaChaBlock state = start;
    for (int round = 0; round < 10; ++round) {
        quarter_round(state, 0, 4, 8, 12);
        quarter_round(state, 1, 5, 9, 13);
        quarter_round(state, 2, 6, 10, 14);
        quarter_round(state, 3, 7, 11, 15);
        quarter_round(state, 0, 5, 10, 15);
        quarter_round(state, 1, 6, 11, 12);
        quarter_round(state, 2, 7, 8, 13);
        quarter_round(state, 3, 4, 9, 14);
    }
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += start[i];
    return state;
}

BitSource::BitSource(const ChaChaKey& key)
    : key_(key), buffer_{}, generation_((count_forks(), fork_generation.load())), turn_(0) {}

BitSource::~BitSource() {
    // volatile keeps the compiler from dropping writes to memory about to be freed.
    for (volatile auto& word : key_) word = 0;
    for (volatile auto& word : buffer_) word = 0;
}

void BitSource::rekey(const ChaChaKey& key) {
    key_ = key;
    position_ = kWords;
}

void BitSource::refill() {
    for (std::size_t b = 0; b < kBlocks; ++b) {
        const auto block = chacha20_block(key_, static_cast<std::uint32_t>(b), {0, 0, 0});
        std::copy(block.begin(), block.end(),
                  buffer_.begin() + static_cast<std::ptrdiff_t>(16 * b));
    }
    std::copy_n(buffer_.begin(), key_.size(), key_.begin());
    std::fill_n(buffer_.begin(), key_.size(), 0U);
    position_ = key_.size();
}

/// Held while a word is drawn.  A turn of another process, before a fork, counts as over: the
/// thread that had it does not exist here.
class BitSource::Turn {
public:
    explicit Turn(std::atomic<std::uint64_t>& turn)
        : turn_(turn), free_(2 * fork_generation.load(std::memory_order_relaxed)) {
        auto seen = turn_.load(std::memory_order_relaxed);
        while (seen == free_ + 1 ||
               !turn_.compare_exchange_weak(seen, free_ + 1, std::memory_order_acquire)) {
            std::this_thread::yield();
            seen = turn_.load(std::memory_order_relaxed);
        }
    }
    ~Turn() { turn_.store(free_, std::memory_order_release); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    Turn(Turn&&) = delete;
    Turn& operator=(Turn&&) = delete;

    std::uint64_t generation() const { return free_ / 2; }

private:
    std::atomic<std::uint64_t>& turn_;
    std::uint64_t free_;
};

std::uint64_t BitSource::next() {
    const Turn turn(turn_);
    if (generation_ != turn.generation()) {
        after_fork();
        generation_ = turn.generation();
    }
    if (position_ == kWords) refill();
    const std::uint64_t low = buffer_[position_];
    const std::uint64_t high = buffer_[position_ + 1];
    buffer_[position_] = buffer_[position_ + 1] = 0;
    position_ += 2;
    return (high << 32) | low;
}

SystemBits::SystemBits() : BitSource(system_key()) {}

void SystemBits::after_fork() { rekey(system_key()); }

TestBits::TestBits(std::uint64_t seed)
    : BitSource({0x70647274, 0x74206765, 0x20747365, 0x73746962,  // "dpreg test bits"
                 static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32), 0, 0}) {}

}  // namespace dpreg
