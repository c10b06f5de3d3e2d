"""Where randomness comes from.

One release draws all its noise from one source, which is an argument of every function
that needs it.  Nothing here or below uses numpy's generators on the private side.
"""

from __future__ import annotations

from dpreg import _core
from dpreg.base.errors import Value, leave_out, unusable, write
from dpreg.base.options import is_whole

# The `rng` argument of public functions: a seed, or a source of bits.
Rng = int | _core.BitSource


def bit_source(rng: Rng | None) -> _core.BitSource:
    """Turn the `rng` argument of a public function into a source of bits.

    rng: ``None`` keys a fresh ChaCha20 stream from the operating system.  An integer gives a
    reproducible stream, and a result that is labelled as not private.  A source is used as it is,
    and continues where it stopped.  Raises ValueError if `rng` is an integer outside [0, 2**64) or
    of another type.
    """
    if rng is None:
        return _core.SystemBits()
    if isinstance(rng, _core.BitSource):
        return rng
    if not is_whole(rng) or not 0 <= rng < 2**64:
        wanted = (
            Value(None), " (private) or an integer in [0, 2**64), which makes the result "
            "reproducible but not private",
        )  # fmt: skip
        raise unusable("rng", wanted, rng, write("rng", 1), leave_out("rng"))
    return _core.TestBits(int(rng))
