"""Blocks of records, in memory while they fit, then in a temporary file."""

from __future__ import annotations

import mmap
import pickle
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from dpreg.errors import SourceError

__all__ = ["Spool"]

Block = TypeVar("Block")

# Where arrays begin in the file: registers are loaded from there.
_ALIGNED = 64


class Spool(Generic[Block]):
    """Blocks that can be read again and again, in the order in which they came.  Private.

    The file has no name where the system allows that, is readable by its owner alone, and is gone
    when the spool is.  Arrays of a block that was in it cannot be written to: they are where the
    system keeps the file, and the memory of a process has them only as long as they are used.

    Parameters
    ----------
    memory : float
        Bytes that blocks may take before they are all moved to the file.
    """

    def __init__(self, memory: float) -> None:
        self._left = memory
        self._held: list[Block] = []
        self._file: Any = None
        self._places: list[list[slice]] = []

    @property
    def held(self) -> list[Block] | None:
        """The blocks, when all of them are in memory; None otherwise."""
        return self._held if self._file is None else None

    def append(self, block: Block, size: int) -> None:
        """Add a block of `size` bytes.

        Raises
        ------
        SourceError
            If there is no room for temporary files.
        """
        self._left -= size
        if self._left < 0 and self._file is None:
            self._file = _on_disk(tempfile.TemporaryFile, buffering=1 << 20)
            weakref.finalize(self, self._file.close)
            for held in self._held:
                self._write(held)
            self._held = []
        if self._file is None:
            self._held.append(block)
        else:
            self._write(block)

    def __len__(self) -> int:
        return len(self._held) + len(self._places)

    def __iter__(self) -> Iterator[Block]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, k: int) -> Block:
        if self._file is None:
            return self._held[k]
        _on_disk(self._file.flush)
        head, *arrays = self._mapped(self._places[k])
        block: Block = pickle.loads(head, buffers=arrays)
        return block

    def _mapped(self, parts: list[slice]) -> list[memoryview]:
        first, last = parts[0].start, parts[-1].stop
        mapped = _on_disk(
            mmap.mmap, self._file.fileno(), last - first, access=mmap.ACCESS_READ, offset=first
        )
        return [memoryview(mapped)[part.start - first : part.stop - first] for part in parts]

    def _write(self, block: Block) -> None:
        arrays: list[pickle.PickleBuffer] = []
        head = pickle.dumps(block, protocol=5, buffer_callback=arrays.append)
        parts = []
        for content in (memoryview(head), *(array.raw() for array in arrays)):
            start = self._file.tell()
            _on_disk(self._file.write, content)
            _on_disk(self._file.write, bytes(-content.nbytes % _ALIGNED))
            parts.append(slice(start, start + content.nbytes))
        # Mappings begin at whole pages.
        end = self._file.tell()
        _on_disk(self._file.write, bytes(-end % mmap.ALLOCATIONGRANULARITY))
        self._places.append(parts)


def _on_disk(call: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return call(*arguments, **options)
    except OSError as error:
        reason = error.strerror
    raise SourceError(
        "data: rows that do not fit in memory go to a temporary file in "
        f"{tempfile.gettempdir()!r}, which failed ({reason}).  The budget is "
        "charged.  Make room there, set TMPDIR to another folder, or raise memory="
    )
