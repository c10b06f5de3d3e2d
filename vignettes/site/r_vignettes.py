"""The vignettes of the R package, run, as pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import chunks
import notebooks

HERE = Path(__file__).parent
HEADER = re.compile(r"\A---\n.*?^title: \"(.*?)\"\n.*?^---\n", re.MULTILINE | re.DOTALL)
# Messages of errors, which R prints in one line.
LONG = re.compile(rf"^#> Error.{{{chunks.WIDTH - 8},}}$", re.MULTILINE)
PICTURE = re.compile(r'<img src="(.+?)" alt="(.*?)" +/>')


def broken(line: re.Match[str]) -> str:
    """Break a line of output that is longer than a page is wide."""
    return "\n".join(
        textwrap.wrap(line[0], chunks.WIDTH, subsequent_indent="#>   ", break_long_words=False)
    )


def stage(pages: list[Path], out: Path, cache: Path, library: Path) -> None:
    """Write a page of each vignette into `out`; those that were run with the same code are kept."""
    sources = sorted((HERE.parents[1] / "rwrapper/R").glob("*.R"))
    kept = cache / f"r-{notebooks.stamp(*pages, *sources, HERE / 'knit.R', Path(__file__))}"
    for old in set(cache.glob("r-*")) - {kept}:
        shutil.rmtree(old)
    if not kept.exists():
        folder = cache / "running"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        done = subprocess.run(
            ["Rscript", "--vanilla", HERE / "knit.R", folder, *pages],
            env=chunks.environment(library), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"a vignette of R fails:\n{done.stderr}")
        for page in folder.glob("*.md"):
            text = HEADER.sub(r"# \1\n", page.read_text())
            page.write_text(LONG.sub(broken, PICTURE.sub(r"![\2](\1)", text)))
        folder.rename(kept)
    shutil.copytree(kept, out, dirs_exist_ok=True)
