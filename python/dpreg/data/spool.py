"""Blocks of records: in memory while they fit, the rest in a temporary file."""

from __future__ import annotations

import functools
import math
import mmap
import os
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from dpreg.data.source import SourceError

Block = TypeVar("Block")

# Alignment of arrays in the file, for loads into vector registers.
_ALIGNED = 64


def why_no_file() -> str | None:
    """Return why no temporary file can be opened; None if one can."""
    try:
        with tempfile.TemporaryFile():
            return None
    except OSError as error:
        return error.strerror or "no folder for temporary files"


class Spool(Generic[Block]):
    """Blocks that can be read repeatedly, in the order in which they were added.  Private.

    The file has no name where the system allows it, is readable by its owner alone, and is deleted
    with the spool.  Arrays of a block in the file are read-only: they are memory-mapped, so they
    take memory of the process only while they are used.

    memory: bytes that blocks may take before the rest goes to the file; without a limit there is no
        file.
    Raises SourceError if there is a limit and no temporary file can be opened.
    """

    def __init__(self, memory: float) -> None:
        self._memory = self._left = memory
        self._held: list[Block] = []
        self._file: Any = None
        self._places: list[list[slice]] = []
        # Opened at once: a failure must not depend on the number of rows.
        if memory < math.inf:
            self._file = _on_disk(tempfile.TemporaryFile, buffering=1 << 20)
            weakref.finalize(self, _close, self._file)

    @property
    def held(self) -> list[Block] | None:
        """The blocks, if all of them are in memory; None otherwise."""
        return None if self._places else self._held

    def clear(self) -> None:
        """Discard all blocks, which must not be used any longer; new blocks reuse the file.

        Overwriting a file takes a fraction of the time of extending it.
        """
        self._left, self._held, self._places = self._memory, [], []
        if self._file is not None:
            _on_disk(self._file.seek, 0)

    def append(self, block: Block, size: int) -> None:
        """Add a block of `size` bytes.

        Raises SourceError if the disk is full.
        """
        self._left -= size
        if self._left >= 0:
            self._held.append(block)
        else:
            self._places.append(_on_disk(self._written, block))

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __iter__(self) -> Iterator[Block]:
        for part in self.parts():
            yield from part()

    def __getitem__(self, k: int) -> Block:
        if k < len(self._held):
            return self._held[k]
        places = self._places[k - len(self._held)]
        first, last = places[0].start, places[-1].stop
        file = self._file.fileno()
        mapped = _on_disk(mmap.mmap, file, last - first, access=mmap.ACCESS_READ, offset=first)
        memory = memoryview(mapped)
        head, *arrays = (memory[place.start - first : place.stop - first] for place in places)
        block: Block = pickle.loads(head, buffers=arrays)
        return block

    def parts(self) -> Iterator[Callable[[], list[Block]]]:
        """Yield functions that each return some of the blocks, in any thread; together all."""
        for k in range(len(self)):
            self._fetch(k + 1 - len(self._held))
            yield functools.partial(self._part, k)

    def _part(self, k: int) -> list[Block]:
        return [self[k]]

    def _written(self, block: Block) -> list[slice]:
        """Write a block; return the positions of its arrays."""
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(block, protocol=5, buffer_callback=arrays.append)
        file, places = self._file, []
        for content in (memoryview(head), *(array.raw() for array in arrays)):
            begin = file.tell()
            places.append(slice(begin, begin + content.nbytes))
            file.write(content)
            file.write(bytes(-content.nbytes % _ALIGNED))
        # Mappings begin at whole pages.
        file.write(bytes(-file.tell() % mmap.ALLOCATIONGRANULARITY))
        file.flush()
        return places

    def _fetch(self, place: int) -> None:
        """Ask the system to read a block of the file ahead, where it supports that."""
        if 0 <= place < len(self._places) and hasattr(os, "posix_fadvise"):
            first, last = self._places[place][0].start, self._places[place][-1].stop
            with suppress(OSError):
                os.posix_fadvise(self._file.fileno(), first, last - first, os.POSIX_FADV_WILLNEED)


def _close(file: Any) -> None:
    with suppress(OSError):  # already reported
        file.close()


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
