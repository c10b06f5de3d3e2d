"""Where charges are kept: in memory, or in a file that always includes all that was spent.

The file is a SQLite database, so that processes take turns, and an entry is on disk, whole, before
`append` returns, whatever ends the process.  Each entry has a hash of itself and of the one before,
and the number of entries and the last hash stand in a place of their own, changed in the same
transaction: an entry that was changed or removed is detected.  Anyone who can write the file can
write all of it anew; only a process that has seen the entries, or somebody who has noted a hash of
the chain, can detect that.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dpreg.base.errors import BudgetError, Options, Words, got
from dpreg.base.later import sqlite3
from dpreg.privacy.charge import Entry

Entries = tuple[Entry, ...]

# Of the layout of the file, in its header.
_VERSION = 3
# Seconds to wait for other processes.
_PATIENCE = 60.0
_TABLES = """
CREATE TABLE ledger (header TEXT NOT NULL, entries INTEGER NOT NULL, last TEXT NOT NULL);
CREATE TABLE entries (number INTEGER PRIMARY KEY, content TEXT NOT NULL,
                      certificate TEXT NOT NULL, hash TEXT NOT NULL);
"""

# How many entries this process has seen in a ledger, and the hash of the last of them.
_SEEN: dict[str, tuple[int, str]] = {}


class MemoryLedger:
    """A ledger that lasts as long as the process, and is written by no other.

    Charges to a copy would not be seen here, so it cannot be copied, and the copy in a forked
    process refuses charges.
    """

    def __init__(self) -> None:
        self._entries: Entries = ()
        self._lock = threading.Lock()
        self._process = os.getpid()

    def append(self, entry: Entry, allowed: Callable[[Entries], bool]) -> int | None:
        """Add `entry` if all entries together are `allowed`; return its number, from 1.

        Raises BudgetError in a process that was forked from the one that has the ledger.
        """
        if os.getpid() != self._process:
            raise _not_shared()
        with self._lock:
            if not allowed((*self._entries, entry)):
                return None
            self._entries = (*self._entries, entry)
            return len(self._entries)

    def __reduce__(self) -> Any:
        raise _not_shared()

    def entries(self) -> Entries:
        """Return all entries so far, oldest first."""
        return self._entries

    def hashes(self) -> tuple[str, ...]:
        """Return the hash of the header and of each entry; none here."""
        return ()


class FileLedger:
    """A ledger on disk, shared by all processes that name it.

    The file is made with `header`, what the ledger is for, when it is not there; the attribute of
    that name is that of the file.
    """

    def __init__(
        self, path: str | os.PathLike[str], header: Mapping[str, Any] | None = None
    ) -> None:
        self.path = _absolute(path)
        if header is not None and not os.path.exists(self.path) and self.path not in _SEEN:
            self._make(header)
        self.header: Mapping[str, Any] = _parsed(self._noted()[0]) or {}

    def append(self, entry: Entry, allowed: Callable[[Entries], bool]) -> int | None:
        with self._opened("IMMEDIATE") as database:
            _, entries, hashes = self._read(database)
            if not allowed((*entries, entry)):
                return None
            content, certificate = json.dumps(entry.content), entry.certificate
            number, digest = len(hashes), _digest(hashes[-1], content, certificate)
            row = (number, content, certificate, digest)
            database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", row)
            database.execute("UPDATE ledger SET entries = ?, last = ?", (number, digest))
        self._note((*hashes, digest))
        return number

    def entries(self) -> Entries:
        return self._noted()[1]

    def hashes(self) -> tuple[str, ...]:
        return self._noted()[2]

    def _noted(self) -> tuple[str, Entries, tuple[str, ...]]:
        """Read the file, and take note that this process has."""
        with self._opened("DEFERRED") as database:
            found = self._read(database)
        self._note(found[2])
        return found

    def _note(self, hashes: tuple[str, ...]) -> None:
        # Another thread may have seen more by now.
        _SEEN[self.path] = max(_SEEN.get(self.path, (0, "")), (len(hashes) - 1, hashes[-1]))

    def _make(self, header: Mapping[str, Any]) -> None:
        """Write the whole file before it gets its name, so that no process reads a part of it."""
        draft = f"{self.path}.{os.getpid()}.{threading.get_ident()}.new"
        text = json.dumps(header)
        try:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with contextlib.closing(sqlite3.connect(draft)) as database, database:
                database.execute(f"PRAGMA user_version = {_VERSION}")
                database.executescript(_TABLES)
                first = (text, _digest("", text, ""))
                database.execute("INSERT INTO ledger VALUES (?, 0, ?)", first)
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(draft, self.path)
        except OSError as error:
            raise _refused("cannot open", self.path, f": {error.strerror}") from None
        except sqlite3.Error as error:
            raise _refused("cannot write", self.path, f": {error}") from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(draft)

    @contextlib.contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, which is on disk when this ends without an error."""
        if not os.path.exists(self.path):
            raise self._lost() if self.path in _SEEN else self._missing()
        if os.path.getsize(self.path) == 0:
            raise self._lost() if self.path in _SEEN else untrusted(self.path, "it is empty")
        try:
            with contextlib.closing(
                sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            ) as database:
                # The folder too is on disk before a transaction ends.
                database.execute("PRAGMA synchronous = EXTRA")
                database.execute(f"BEGIN {mode}")
                yield database
                database.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise self._unusable(error) from None
        except (sqlite3.Error, UnicodeError) as error:
            raise untrusted(self.path, str(error)) from None

    def _read(self, database: sqlite3.Connection) -> tuple[str, Entries, tuple[str, ...]]:
        """Return the header, all entries, and the hash of each."""
        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            of_file = database.execute("SELECT header, entries, last FROM ledger").fetchall()
            ((header, count, last),) = of_file
            entry = "SELECT number, content, certificate, hash FROM entries ORDER BY number"
            rows = database.execute(entry).fetchall()
            pages = database.execute("PRAGMA page_count").fetchone()[0]
            size = database.execute("PRAGMA page_size").fetchone()[0]
        except (sqlite3.OperationalError, UnicodeError, TypeError, ValueError):
            raise untrusted(self.path, "it was not written by this version of dpreg") from None
        if version != _VERSION or os.path.getsize(self.path) != pages * size:
            raise untrusted(
                self.path, "it is incomplete, or was written by another version of dpreg"
            )
        hashes, entries = [_digest("", header, "")], []
        seen, known = _SEEN.get(self.path, (0, hashes[0]))
        for number, (place, content, certificate, claimed) in enumerate(rows, start=1):
            hashes.append(_digest(hashes[-1], content, certificate))
            if place != number or claimed != hashes[-1]:
                raise untrusted(self.path, f"entry {number} was changed after it was made")
            entries.append(Entry(_parsed(content) or {}, certificate))
        if len(rows) < seen or hashes[seen] != known:
            raise self._lost()
        if count != len(rows) or last != hashes[-1]:
            raise untrusted(self.path, "entries were removed or inserted")
        return header, tuple(entries), tuple(hashes)

    def _unusable(self, error: sqlite3.OperationalError) -> BudgetError:
        # Errors that Python itself raises have no code.
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            problem = f"{self.path!r} was locked by another process for {_PATIENCE:g} seconds, and "
            advice = "try again when that process has finished"
            return BudgetError("ledger", f"{problem}nothing was written to it", advice)
        return _refused("cannot use", self.path, f": {error}, and nothing was written to it")

    def _missing(self) -> BudgetError:
        made = Options("budget", "", "Budget", {"eps": 1.0, "ledger": self.path})
        problem = ": there is no such file"
        return _refused("cannot open", self.path, problem, ("make it with ", made))

    def _lost(self) -> BudgetError:
        problem = "charges that this process recorded are missing from"
        advice = "restore the file from a backup, as spent budget stays spent, or name another file"
        return _refused(problem, self.path, "", advice)


Ledger = MemoryLedger | FileLedger


def _not_shared() -> BudgetError:
    shared = Options("budget", "", "Budget", {"eps": 1.0, "ledger": "budget.db"})
    problem = "is kept in memory by the process that made it, which does not see charges to a copy"
    return BudgetError("budget", problem, ("to share one, keep it in a file, such as ", shared))


def untrusted(path: str, why: str) -> BudgetError:
    """Return the refusal of a ledger that cannot be what it was."""
    advice = "restore it from a backup, or name another file"
    return BudgetError("ledger", f"{path!r} cannot be trusted: {why}", advice)


def _refused(what: str, path: str, why: str, *advice: Words) -> BudgetError:
    return BudgetError("ledger", f"{what} {path!r}{why}", *advice)


def _absolute(path: object) -> str:
    """Return where the ledger is, whatever the working directory will be."""
    try:
        name = os.fsdecode(path)  # type: ignore[arg-type]
    except TypeError:
        name = ""
    if not name:
        raise BudgetError("ledger", ("must be the path of a file, got ", got(path)))
    return os.path.abspath(name)


def _digest(previous: str, content: str, certificate: str) -> str:
    # In JSON, where no part can run into the next.
    text = json.dumps([previous, str(content), str(certificate)])
    return hashlib.sha256(text.encode()).hexdigest()


def _parsed(text: Any) -> dict[str, Any] | None:
    """Return the object that a text holds; None if it holds something else."""
    try:
        content = json.loads(text)
    except (TypeError, ValueError):
        return None
    return content if isinstance(content, dict) else None
