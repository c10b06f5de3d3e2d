"""Blocks of records, in memory while they fit, the rest in temporary files."""

from __future__ import annotations

import functools
import math
import mmap
import os
import pickle
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar

from dpreg.data.source import SourceError

Block = TypeVar("Block")

# What threads that close files are called.
CLOSING = "dpreg closes a file"
# Where arrays begin in the file: registers are loaded from there.
_ALIGNED = 64
# Bytes of a file that are mapped at once, unless one block has more.
_MAPPED = 1 << 25
# Blocks that wait to be written to a file while the next is made.
_WAITING = 2
# Files that blocks go to in turn: where memory is touched for the first time, which takes most of
# the time of writing, two threads are done in half of it.
_FILES = 2


def why_no_file() -> str | None:
    """Return why no temporary file can be opened; None: it can."""
    try:
        with tempfile.TemporaryFile():
            return None
    except OSError as error:
        return error.strerror or "no folder for temporary files"


class Spool(Generic[Block]):
    """Blocks that can be read again and again, in the order in which they came.  Private.

    Files have no name where the system allows that, are readable by their owner alone, and are gone
    when the spool is.  Arrays of a block that was in one cannot be written to: they are where the
    system keeps the file, and the memory of a process has them only as long as they are used.

    memory: bytes that blocks may take before others go to files; without a limit there are none.
    Raises SourceError if there is a limit and no room for temporary files.
    """

    def __init__(self, memory: float) -> None:
        self._memory = self._left = memory
        self._held: list[Block] = []
        # Opened now: whether that works must not show that there are many rows.
        self._files = [] if memory == math.inf else [_File() for _ in range(_FILES)]
        self._places: list[list[slice]] = []

    @property
    def held(self) -> list[Block] | None:
        """The blocks, when all of them are in memory; None otherwise."""
        return None if self._places else self._held

    def clear(self) -> None:
        """Let go of all blocks, which nobody may use any longer: others go to the same files.

        Room that a file has already is written to in a fraction of the time.
        """
        self._left, self._held, self._places = self._memory, [], []
        for file in self._files:
            file.rewind()

    def append(self, block: Block, size: int) -> None:
        """Add a block of `size` bytes.

        Raises SourceError if the disk is full.
        """
        self._left -= size
        if self._left >= 0:
            self._held.append(block)
        else:
            self._places.append(self._file_of(len(self._places)).write(block))

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __iter__(self) -> Iterator[Block]:
        for part in self.parts():
            yield from part()

    def __getitem__(self, k: int) -> Block:
        if k < len(self._held):
            return self._held[k]
        place = k - len(self._held)
        return self._read(place, place + 1)[0]

    def parts(self) -> Iterator[Callable[[], list[Block]]]:
        """Yield what returns the next few blocks, in any thread, and all of them in the end."""
        yield from (functools.partial(list, [block]) for block in self._held)
        ends = [0]
        while ends[-1] < len(self._places):
            ends.append(self._end_of_part(ends[-1]))
        for file in self._files:
            file.settle()  # by one thread, before others read
        for first, last, after in zip(ends, ends[1:], [*ends[2:], None], strict=False):
            for blocks in [] if after is None else self._of_each_file(last, after):
                begin, end = self._places[blocks[0]][0], self._places[blocks[-1]][-1]
                self._file_of(blocks[0]).fetch(begin, end)
            yield functools.partial(self._read, first, last)

    def _end_of_part(self, first: int) -> int:
        last, size = first + 1, self._size(first)
        while last < len(self._places) and size + self._size(last) <= _MAPPED:
            size += self._size(last)
            last += 1
        return last

    def _size(self, k: int) -> int:
        return int(self._places[k][-1].stop - self._places[k][0].start)

    def _file_of(self, k: int) -> _File:
        return self._files[k % len(self._files)]

    def _of_each_file(self, first: int, last: int) -> Iterator[range]:
        """Yield which of these blocks are in each file that has one; there they lie together."""
        step = len(self._files)
        yield from (range(k, last, step) for k in range(first, min(first + step, last)))

    def _read(self, first: int, last: int) -> list[Block]:
        """Return blocks that follow one another."""
        found: dict[int, Block] = {}
        for blocks in self._of_each_file(first, last):
            places = [place for k in blocks for place in self._places[k]]
            memory = iter(self._file_of(blocks[0]).mapped(places))
            for k in blocks:
                head, *arrays = (next(memory) for _ in self._places[k])
                found[k] = pickle.loads(head, buffers=arrays)
        return [found[k] for k in range(first, last)]


class _File:
    """A temporary file, written by a thread of its own."""

    def __init__(self) -> None:
        self._file = _on_disk(tempfile.TemporaryFile, buffering=1 << 20)
        self._writers: list[ThreadPoolExecutor] = []  # One, once there is something to write.
        self._waiting: deque[Future[None]] = deque()
        self._end = 0
        weakref.finalize(self, _close, self._writers, self._file)

    def write(self, block: object) -> list[slice]:
        """Write a block, by and by; return the places of its parts."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(block, protocol=5, buffer_callback=arrays.append)
        contents, places = [], []
        for content in (memoryview(head), *(array.raw() for array in arrays)):
            places.append(slice(self._end, self._end + content.nbytes))
            contents += [content, bytes(-content.nbytes % _ALIGNED)]
            self._end += content.nbytes + len(contents[-1])
        # Mappings begin at whole pages.
        contents.append(bytes(-self._end % mmap.ALLOCATIONGRANULARITY))
        self._end += len(contents[-1])
        self.settle(_WAITING)
        if not self._writers:
            self._writers.append(ThreadPoolExecutor(max_workers=1))
        writer = self._writers[0]
        try:
            self._waiting.append(writer.submit(self._file.writelines, contents))
        except RuntimeError:
            # No thread is to be had.  What was submitted waits for one all the same, and would be
            # written a second time, in the place of a later block.
            self.settle()
            writer.shutdown(cancel_futures=True)
            _on_disk(self._file.writelines, contents)
        return places

    def rewind(self) -> None:
        """Write to the beginning from now on."""
        self.settle()
        _on_disk(self._file.seek, 0)
        self._end = 0

    def settle(self, waiting: int = 0) -> None:
        """Wait until no more than so many blocks are not written."""
        while len(self._waiting) > waiting:
            _on_disk(self._waiting.popleft().result)

    def mapped(self, parts: list[slice]) -> list[memoryview]:
        """Return parts that follow one another as memory."""
        self.settle()
        _on_disk(self._file.flush)
        first, last = parts[0].start, parts[-1].stop
        mapped = _on_disk(
            mmap.mmap, self._file.fileno(), last - first, access=mmap.ACCESS_READ, offset=first
        )
        return [memoryview(mapped)[part.start - first : part.stop - first] for part in parts]

    def fetch(self, first: slice, last: slice) -> None:
        """Have the system read these and what is between, if it can be told."""
        if hasattr(os, "posix_fadvise"):
            size = last.stop - first.start
            with suppress(OSError):
                os.posix_fadvise(self._file.fileno(), first.start, size, os.POSIX_FADV_WILLNEED)


def _close(writers: list[ThreadPoolExecutor], file: Any) -> None:
    """Close a file that nobody writes to any longer, in a thread: a large one takes a while.

    One to which nothing was written is closed at once.

    The collector may call this from anywhere, also from within `ThreadPoolExecutor.submit`, whose
    lock it must not ask for again.
    """

    def close() -> None:
        for writer in writers:
            writer.shutdown(cancel_futures=True)
        with suppress(OSError):  # which has been said
            file.close()

    if not writers:
        close()
        return
    try:
        threading.Thread(target=close, name=CLOSING).start()
    except RuntimeError:  # no thread is to be had, or none any longer
        close()


def _on_disk(call: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return call(*arguments, **options)
    except OSError as error:
        reason = error.strerror
    where = "" if tempfile.tempdir is None else f" in {tempfile.tempdir!r}"
    raise SourceError(
        "data: rows that do not fit in memory are written to a temporary file"
        f"{where}, which failed ({reason}).  The budget is "
        "charged.  Free disk space, set TMPDIR to another folder, or raise memory="
    )
