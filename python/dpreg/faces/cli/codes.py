"""What a command says with its exit code."""

from __future__ import annotations

DONE = 0
# An audit found a broken claim, or a ledger is not what it was.
BROKEN = 1
# Wrong use: nothing was read and nothing charged.
REFUSED = 2
# The mechanism did not release; the charge was made.
DECLINED = 3
# The charge was made, and then a source could not be read or a result not be written; or there
# was no entropy.
FAILED = 4
# The reader of the output went away, as for any SIGPIPE.
CUT_OFF = 141
# Somebody pressed Ctrl-C; a charge that was made stays.
INTERRUPTED = 130
