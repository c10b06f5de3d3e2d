"""Build the site: `python vignettes/site/build.py build/docs`; the result is build/docs/html.

Everything is put together in build/docs/source first: the pages of this folder, the texts of the
repository where they lie in it, and what is made by running something.  Sphinx then reads that.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import chunks
import constants
import landing
import manual_pages
import notebooks
import planner_tables
import r_vignettes
import repository
import review_pdf
import reviewer

from dpreg import __version__

HERE = Path(__file__).resolve().parent


def install_r_package(library: Path) -> None:
    library.mkdir(parents=True, exist_ok=True)
    # Compiling takes longer than all pages of R do without it; see `chunks.environment`.
    less = ["--no-docs", "--no-test-load", "--no-byte-compile"]
    command = ["R", "CMD", "INSTALL", *less, f"--library={library}"]
    done = subprocess.run(
        [*command, repository.ROOT / "rwrapper"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise SystemExit(done.stderr)


def main(build: Path) -> int:
    source, library, cache = build / "source", build / "r", build / "executed"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(HERE / "pages", source)
    cache.mkdir(parents=True, exist_ok=True)

    pages = repository.stage(source)
    (source / "pages.json").write_text(json.dumps(pages))
    manual_pages.stage_r(source)
    manual_pages.stage_shell(source)
    install_r_package(library)
    chunks.stage(sorted((source / "guide").glob("*.md")), library)
    landing.stage(source / "index.md")
    reviewer.stage(source / "privacy/reviewer.md")
    review_pdf.write(source / "privacy")
    planner = source / "planner.md"
    tables = planner_tables.tables()
    planner.write_text(planner.read_text().replace("<!-- tables -->", tables))
    numbers = source / "reference/constants.md"
    numbers.write_text(numbers.read_text().replace("<!-- constants -->", constants.table()))
    cite = source / "cite.md"
    cite.write_text(cite.read_text().replace("{{version}}", __version__))
    scripts = sorted((repository.ROOT / "vignettes").glob("*.py"))
    notebooks.stage(scripts, source / "vignettes", cache)
    of_r = sorted((repository.ROOT / "rwrapper/vignettes").glob("*.Rmd"))
    r_vignettes.stage(of_r, source / "rwrapper/vignettes", cache, library)

    html, doctrees = build / "html", build / "doctrees"
    for old in (html, doctrees):
        shutil.rmtree(old, ignore_errors=True)
    # In one process: of two, each has a copy of all pages, and both together take 16 s more.
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going"]
    folders = ["-c", HERE, "-d", doctrees, source, html]
    return subprocess.run([*command, *folders], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]).resolve()))
