"""ChaCha20, its seeding and its independence."""

from __future__ import annotations

import os
import struct

import numpy as np
import pytest
from laws import ALPHA
from scipy import stats

from dpreg import _core
from dpreg.privacy.bits import bit_source

# RFC 8439, appendix A.1: (key, counter, nonce) -> the first words of the block.
RFC_VECTORS = [
    ([0] * 8, 0, [0, 0, 0], [0xADE0B876, 0x903DF1A0, 0xE56A5D40, 0x28BD8653]),
    ([0] * 8, 1, [0, 0, 0], [0xBEE7079F, 0x7A385155, 0x7C97BA98, 0x0D082D73]),
    ([0] * 7 + [0x01000000], 1, [0, 0, 0], [0x2452EB3A, 0x9249F8EC, 0x8D829D9B, 0xDDD4CEB1]),
    ([0xFF00] + [0] * 7, 2, [0, 0, 0], [0xFB4DD572, 0x4BC42EF1, 0xDF922636, 0x327F1394]),
    ([0] * 8, 0, [0, 0, 0x02000000], [0x374DC6C2, 0x3736D58C, 0xB904E24A, 0xCD3F93EF]),
]


@pytest.mark.parametrize(("key", "counter", "nonce", "words"), RFC_VECTORS)
def test_block_function_follows_the_rfc(key, counter, nonce, words):
    assert _core.testing.chacha20_block(key=key, counter=counter, nonce=nonce)[:4] == words


def test_stream_is_chacha20_with_fast_key_erasure():
    """The first refill: 16 blocks under the seed's key, less the 32 bytes of the next key."""
    key = [0x70647274, 0x74206765, 0x20747365, 0x73746962, 5, 0, 0, 0]
    words = [w for b in range(16) for w in _core.testing.chacha20_block(key, b, [0, 0, 0])]
    bits = _core.TestBits(5)
    drawn = [bits.next() for _ in range(124)]
    expected = [words[i] | words[i + 1] << 32 for i in range(8, 256, 2)]
    assert drawn == expected
    after = [w for b in range(16) for w in _core.testing.chacha20_block(words[:8], b, [0, 0, 0])]
    assert bits.next() == after[8] | after[9] << 32


def test_a_child_process_does_not_repeat_its_parent():
    bits = _core.SystemBits()
    bits.next()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, struct.pack("<4Q", *(bits.next() for _ in range(4))))
        os._exit(0)
    os.waitpid(child, 0)
    theirs = struct.unpack("<4Q", os.read(read, 32))
    assert not set(theirs) & {bits.next() for _ in range(4)}


def test_bits_are_balanced(bits):
    words = np.array([bits.next() for _ in range(20_000)], dtype=np.uint64)
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0)
    assert stats.binomtest(int(ones.sum()), 64 * len(words)).pvalue > ALPHA
    assert min(stats.binomtest(int(k), len(words)).pvalue for k in ones) > ALPHA / 64


@pytest.mark.parametrize("rng", [-1, 2**64, 1.5, "1", True, [1]])
def test_wrong_rng_is_refused(rng):
    with pytest.raises(ValueError, match="rng must be"):
        bit_source(rng)


def test_numpy_integers_are_seeds():
    assert bit_source(np.int32(5)).next() == bit_source(5).next()
    assert not bit_source(None).seeded
