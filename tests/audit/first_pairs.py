"""Write first_pairs.json: of each mutant the number of the pair that finds it, where it is not 0.

``python tests/audit/first_pairs.py``, after replays or mutants have changed.  Where it is out of
date, tests take longer and nothing else: they go on with the pairs after it, and then with all.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
FILE = HERE / "first_pairs.json"
PAIR = re.compile(r"pair (\d+), ")


def found_by(mutant, effort):
    """Return what the checks of a mutant find, until one rejects it."""
    from dpreg.audit import CHECKS

    findings = []
    with contextlib.ExitStack() as stack:
        mutant.apply(stack)
        for name in mutant.checks:
            findings.append(CHECKS[name].run(effort))
            if not findings[-1].holds:
                break
    return findings


def main():
    from audit.mutants import MUTANTS

    from dpreg.audit import Effort

    numbers = {}
    for mutant in MUTANTS:
        pair = PAIR.match(found_by(mutant, Effort(0.1, 20260101))[-1].remark)
        if pair and int(pair[1]):
            numbers[mutant.name] = int(pair[1])
    FILE.write_text(json.dumps(numbers, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    main()
