"""Streams of bits: random to batteries, never shared, and an error when there is no entropy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from laws import ALPHA
from scipy import stats

import dpreg
from dpreg import _core

WORDS = 200_000


@pytest.fixture(scope="module")
def words():
    bits = _core.TestBits(20260101)
    return np.array([bits.next() for _ in range(WORDS)], dtype=np.uint64)


@pytest.fixture(scope="module")
def stream(words):
    return np.unpackbits(words.view(np.uint8), bitorder="little").astype(np.int64)


def test_bytes_are_uniform(words):
    counts = np.bincount(words.view(np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > ALPHA


def test_neighbouring_bytes_are_independent(words):
    data = words.view(np.uint8).astype(np.int64)
    pairs = np.bincount(data[:-1:2] * 256 + data[1::2], minlength=65536)
    assert stats.chisquare(pairs).pvalue > ALPHA


@pytest.mark.parametrize("lag", [1, 2, 31, 32, 63, 64, 65, 512, 7936])
def test_no_serial_correlation(stream, lag):
    """7,936 bits are between one refill and the next."""
    agree = int((stream[lag:] == stream[:-lag]).sum())
    assert stats.binomtest(agree, len(stream) - lag).pvalue > ALPHA


def test_runs_have_geometric_lengths(stream):
    ends = np.flatnonzero(np.diff(stream))
    lengths = np.minimum(np.diff(ends), 20)
    law = np.append(0.5 ** np.arange(1, 20), 0.5**19)
    observed = np.bincount(lengths, minlength=21)[1:]
    assert stats.chisquare(observed, law * observed.sum()).pvalue > ALPHA


def test_gaps_between_equal_words_are_those_of_chance(words):
    """Birthdays: coincidences of 32-bit halves."""
    halves = words.view(np.uint32)
    expected = len(halves) ** 2 / 2**33
    found = len(halves) - len(np.unique(halves))
    assert stats.poisson.sf(found - 1, expected) > ALPHA / 2
    assert stats.poisson.cdf(found, expected) > ALPHA / 2


@pytest.mark.parametrize("first", [0, 1, 2**32, 2**63])
def test_streams_of_neighbouring_seeds_are_independent(first):
    a, b = (
        np.array([bits.next() for _ in range(2000)], dtype=np.uint64)
        for bits in (_core.TestBits(first), _core.TestBits(first + 1))
    )
    differing = int(np.unpackbits((a ^ b).view(np.uint8)).sum())
    assert stats.binomtest(differing, 64 * 2000).pvalue > ALPHA


def test_threads_have_streams_of_their_own():
    drawn = []

    def draw():
        bits = _core.SystemBits()
        drawn.append([bits.next() for _ in range(1000)])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(Counter(word for words in drawn for word in words).values()) == 1


def test_many_forks_do_not_repeat_one_another():
    """Children of children too, each after its parent has drawn."""
    bits = _core.SystemBits()
    read, write = os.pipe()
    bits.next()
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            grandchild = os.fork()
            os.write(write, bits.next().to_bytes(8, "little"))
            if grandchild:
                os.waitpid(grandchild, 0)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        theirs = pipe.read()
    words = [theirs[i : i + 8] for i in range(0, len(theirs), 8)]
    assert len(words) == 16
    assert len({*words, bits.next().to_bytes(8, "little")}) == 17


def test_fits_in_children_of_a_fork_differ():
    data = pd.DataFrame({"x": np.arange(4000.0), "y": np.arange(4000.0)})
    source = _core.SystemBits()
    read, write = os.pipe()
    for _ in range(3):
        child = os.fork()
        if child == 0:
            fit = dpreg.dp_lm("y ~ x", data, 0.1, 1e-3, method="boosted_adassp", rng=source)
            os.write(write, repr(fit.nobs).encode() + b"\n")
            os._exit(0)
        os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert len(set(pipe.read().split("\n"))) == 4  # three numbers and the end


@pytest.mark.parametrize("method", ["tukey", "adassp", "boosted_adassp"])
def test_a_seed_marks_everything_as_not_private(method):
    data = pd.DataFrame({"x": np.arange(50.0), "y": np.arange(50.0)})
    fit = dpreg.dp_lm("y ~ x", data, 1.0, 1e-3, method=method, rng=1)
    assert fit.privacy.seeded
    assert "NOT PRIVATE" in fit.privacy.claim
    assert "NOT PRIVATE" in str(fit.summary())
    assert "NOT PRIVATE" in fit.privacy.to_json()
    if fit.released:
        assert "NOT PRIVATE" in fit.to_json()
        assert dpreg.DPResults.from_json(fit.to_json()).privacy.seeded
    fresh = dpreg.dp_lm("y ~ x", data, 1.0, 1e-3, method=method)
    assert "NOT PRIVATE" not in str(fresh.summary())


NO_ENTROPY = """
#include <errno.h>
#include <stddef.h>
int getentropy(void *buffer, size_t size) {
    (void)buffer; (void)size;
    errno = EIO;
    return -1;
}
"""

CALL = """
import dpreg
try:
    dpreg.dp_lm("y ~ x", {"x": [1.0], "y": [1.0]}, 1.0, 1e-3)
except dpreg.EntropyError as error:
    print("refused:", error)
"""


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("cc"), reason="needs cc and Linux")
def test_without_entropy_nothing_is_released(tmp_path):
    source, library = tmp_path / "none.c", tmp_path / "none.so"
    source.write_text(NO_ENTROPY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", CALL], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "refused: the operating system gave no entropy\n"
