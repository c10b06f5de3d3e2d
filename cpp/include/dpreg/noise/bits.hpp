#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dpreg {

using ChaChaKey = std::array<std::uint32_t, 8>;
using ChaChaBlock = std::array<std::uint32_t, 16>;

/// The ChaCha20 block function (RFC 8439, section 2.3), words little-endian.
///
/// `counter` is the 32-bit block counter, `nonce` the 96-bit nonce.
ChaChaBlock chacha20_block(const ChaChaKey& key, std::uint32_t counter,
                           const std::array<std::uint32_t, 3>& nonce);

/// A stream of uniform random bits, the only source of randomness of a sampler.
///
/// ChaCha20 with fast key erasure: each refill makes `kBlocks` blocks, the first
/// 32 bytes of which replace the key, so what was drawn cannot be recomputed
/// from the state.  Threads that share one take turns, word by word, so none gets what another
/// got.  Not copyable: a copy would repeat its original.
class BitSource {
public:
    BitSource(const BitSource&) = delete;
    BitSource& operator=(const BitSource&) = delete;
    BitSource(BitSource&&) = delete;
    BitSource& operator=(BitSource&&) = delete;
    virtual ~BitSource();

    /// 64 uniform bits.  Throws EntropyError if a new key is due and not available.
    std::uint64_t next();

    /// True when the stream is a function of a chosen seed: the
    /// output is then reproducible and **not private**.
    virtual bool seeded() const = 0;

protected:
    explicit BitSource(const ChaChaKey& key);

    /// Discards the buffer and continues from `key`.
    void rekey(const ChaChaKey& key);

private:
    static constexpr std::size_t kBlocks = 16;
    static constexpr std::size_t kWords = 16 * kBlocks;

    class Turn;

    /// Called after a fork, when the process differs from that of the last draw.
    virtual void after_fork() = 0;
    void refill();

    ChaChaKey key_;
    std::array<std::uint32_t, kWords> buffer_;
    std::size_t position_ = kWords;
    std::uint64_t generation_;         ///< forks before the last draw
    std::atomic<std::uint64_t> turn_;  ///< twice the forks at the last turn, plus 1 while it lasts
};

/// Keyed by the operating system, again after a fork.  The default everywhere.
class SystemBits final : public BitSource {
public:
    /// Throws EntropyError when the operating system gives no entropy.
    SystemBits();
    bool seeded() const override { return false; }

private:
    void after_fork() override;
};

/// A reproducible stream, for tests and papers.  Nothing drawn from it is private.
class TestBits final : public BitSource {
public:
    explicit TestBits(std::uint64_t seed);
    bool seeded() const override { return true; }

private:
    void after_fork() override {}
};

}  // namespace dpreg
