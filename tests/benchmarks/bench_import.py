"""``import dpreg`` in a fresh process, as a ratio to numpy, scipy and pandas in another.

Run as ``python tests/benchmarks/bench_import.py [--quick] [--json FILE]``.
"""

from __future__ import annotations

import subprocess
import sys

from measure import Sheet, arguments


def importing(modules):
    return lambda: subprocess.run([sys.executable, "-c", f"import {modules}"], check=True)


def main():
    options = arguments(__doc__)
    sheet = Sheet()
    for modules in ("dpreg", "numpy, scipy, pandas"):
        importing(modules)()  # files are in memory and compiled from now on
    sheet.ratio(
        "import", importing("dpreg"), importing("numpy, scipy, pandas"), 5 if options.quick else 15,
        "import dpreg over import numpy, scipy, pandas", faster=False,
    )  # fmt: skip
    sheet.write(options.json)


if __name__ == "__main__":
    main()
