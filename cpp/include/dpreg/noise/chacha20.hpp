#pragma once

#include <array>
#include <cstdint>

namespace dpreg {

using ChaChaKey = std::array<std::uint32_t, 8>;
using ChaChaBlock = std::array<std::uint32_t, 16>;

/// The ChaCha20 block function (RFC 8439, section 2.3), words little-endian.
///
/// `counter` is the 32-bit block counter, `nonce` the 96-bit nonce.
ChaChaBlock chacha20_block(const ChaChaKey& key, std::uint32_t counter,
                           const std::array<std::uint32_t, 3>& nonce);

}  // namespace dpreg
