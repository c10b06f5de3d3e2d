"""What a shell needs: messages in its language, files that can be written, pipes that close."""

from __future__ import annotations

import os
import re
import sys

__all__ = ["close_quietly", "in_shell", "needs_writable"]

_ARGUMENTS = "eps|delta|method|select|split|levels|unit|bounds|ledger|k"
_REWRITES: tuple[tuple[str, str], ...] = (
    (r"add levels=\{'([^']*)': \['first', 'second', \.\.\.\]\} to the call",
     r"add --levels '\1=first,second,...'"),
    (r"write levels=\{'([^']*)': \[1, 2, \.\.\.\]\}",
     r"write C(\1, levels=[1, 2, ...]) in the formula, without --levels"),
    (r"write dpreg\.DPSIS\(bounds=\{'([^']*)': \(low, high\), \.\.\.\}\)",
     r"write --bounds '\1=LOW,HIGH'"),
    (r" or an options object", ""),
    (r"\bleave (k) out", r"leave --\1 out"),
    (r"\binference=False\b", "--no-inference"),
    (rf"\b({_ARGUMENTS})='([^']*)'", r"--\1 \2"),
    (r"\b(eps|delta|k)=([\d.e-]*\d)", r"--\1 \2"),
    (rf"^({_ARGUMENTS})(?= must be| says|:)", r"--\1"),
)  # fmt: skip


def in_shell(message: str) -> str:
    """Return a message to users of Python as users of the command line would type it."""
    # A formula that is quoted, what is left of a budget and what a ledger was made for stay.
    if message.startswith(("formula:", "budget:", "ledger:")):
        return message
    for pattern, replacement in _REWRITES:
        message = re.sub(pattern, replacement, message)
    return message


def needs_writable(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written, and leave it as it was.

    Raises
    ------
    ValueError
        Naming `option`.
    """
    if path is None:
        return
    new = not os.path.lexists(path)
    try:
        with open(path, "a", encoding="utf-8"):
            pass
        if new:
            os.unlink(path)
    except OSError as error:
        raise ValueError(f"{option}: cannot write {path!r}: {error.strerror}") from None


def close_quietly() -> None:
    """Let nothing be written to a pipe that was closed, not even when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
