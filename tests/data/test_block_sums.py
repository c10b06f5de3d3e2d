"""What is made of blocks at the same time is what is made of them one after another."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpreg import _core
from dpreg.data.observations import of_blocks, sum_of_blocks


@pytest.fixture(params=[None, 0, 1])
def threads(request, monkeypatch):
    """So many threads can be had; None: any number."""
    if request.param is not None:
        left, start = [request.param], threading.Thread.start

        def started(thread):
            if left[0] == 0:
                raise RuntimeError("can't start new thread")
            left[0] -= 1
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", started)
    return request.param


@pytest.mark.parametrize("processors", [1, 3, None])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 20])
def test_what_is_made_comes_in_the_order_of_the_blocks(count, processors, threads, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: processors)
    late = np.random.default_rng(count).permutation(count)

    def make(block):
        time.sleep(0.001 * late[block])
        return block * block

    assert list(of_blocks(range(count), make)) == [k * k for k in range(count)]


def test_a_sum_is_that_of_the_blocks_and_changes_none(threads):
    blocks = [np.arange(6, dtype=np.int64) << k for k in range(30)]
    before = [block.copy() for block in blocks[1:]]
    total = sum_of_blocks(iter(blocks), np.copy)
    assert (total == sum(block.astype(object) for block in blocks)).all()
    assert all((block == kept).all() for block, kept in zip(blocks[1:], before, strict=True))


def test_few_blocks_are_under_way(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    read = []
    made = of_blocks((read.append(k) or k for k in range(50)), lambda block: block)
    for number, _ in enumerate(made, start=1):
        assert len(read) <= number + 3


def test_what_fails_in_a_block_is_raised_and_ends_the_rest():
    done = []

    def make(block):
        if block == 5:
            raise MemoryError
        done.append(block)

    with pytest.raises(MemoryError):
        list(of_blocks(range(10_000), make))
    assert len(done) < 100


def test_threads_of_blocks_have_a_processor_each(monkeypatch):
    asked, here = [], threading.get_ident()
    monkeypatch.setattr(
        _core, "use_threads", lambda count: asked.append((count, threading.get_ident()))
    )
    list(of_blocks(range(8), lambda block: block))
    assert asked
    assert all(count == 1 and thread != here for count, thread in asked)


def test_a_thread_of_one_gives_the_same_sums():
    x = np.random.default_rng(1).standard_normal((5_000, 3))
    with ThreadPoolExecutor(1, initializer=_core.use_threads, initargs=(1,)) as pool:
        alone = pool.submit(_core.magnitude_counts, x).result()
    assert (alone == _core.magnitude_counts(x)).all()
