"""Run the chunks in the folders of a folder, each folder with names of its own."""

from __future__ import annotations

import contextlib
import io
import sys
from pathlib import Path

import pandas as pd
from matplotlib import pyplot as plt
from pictures import in_words


def draw(path: Path) -> None:
    """Save the figure that a chunk left open, if there is one, and its text."""
    if not plt.get_fignums():
        return
    figure = plt.gcf()
    figure.savefig(path.with_suffix(".png"), dpi=160, bbox_inches="tight")
    path.with_suffix(".alt").write_text(in_words(figure))
    plt.close("all")


def rounded(value: float) -> str:
    """Return a number as a paper prints it, so that tables are no wider than a page."""
    if value != 0 and abs(value) < 1e-4:
        return f"{value:.1e}"
    # Without the sign of a zero.
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value or 0.0:.4g}"


# Letters of a plot stay legible where it is as narrow as a phone.
plt.rcParams["font.size"] = 12
pd.set_option(
    "display.width", 100, "display.max_columns", None, "display.float_format", rounded
)  # fmt: skip
for page in sorted(Path(sys.argv[1]).iterdir()):
    names: dict[str, object] = {"__name__": "__main__"}
    for chunk in sorted(page.glob("*.py")):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(chunk.read_text(), str(chunk), "exec"), names)
        chunk.with_suffix(".out").write_text(said.getvalue())
        draw(chunk)
