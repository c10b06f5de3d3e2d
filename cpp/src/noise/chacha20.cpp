#include "dpreg/noise/chacha20.hpp"

#include <cstddef>

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

}  // namespace dpreg
