"""The guide: pages whose ```{python} and ```{r} blocks are run, with what they print below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).parent
CHUNK = re.compile(r"^```\{(python|r)\}\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
RUNNERS = {
    "python": [sys.executable, "run_chunks.py"],
    "r": ["Rscript", "--vanilla", "run_chunks.R"],
}
SUFFIX = {"python": "py", "r": "R"}
# Characters of a line.  Columns of a table are two blanks apart, words of a message one.
WIDTH = 100
TABLE = re.compile(r"\S {2,}\S")


def environment(library: Path) -> dict[str, str]:
    """Return variables under which R finds its package, and it finds this Python."""
    needed = {"R_LIBS": str(library), "RETICULATE_PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    return os.environ | needed


def printed(pages: dict[str, list[str]], language: str, library: Path) -> dict[str, list[str]]:
    """Run the chunks of each page one after the other; return what each printed."""
    program, script = RUNNERS[language][:-1], HERE / RUNNERS[language][-1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, chunks in enumerate(pages.values()):
            (folder / f"{number:02}").mkdir()
            for place, code in enumerate(chunks):
                (folder / f"{number:02}/{place:02}.{SUFFIX[language]}").write_text(code)
        done = subprocess.run(
            [*program, str(script), name],
            env=environment(library), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"a block of the guide in {language} fails:\n{done.stderr}")
        return {
            page: [
                (folder / f"{number:02}/{place:02}.out").read_text() for place in range(len(chunks))
            ]
            for number, (page, chunks) in enumerate(pages.items())
        }


def wrapped(output: str) -> str:
    """Break the lines of messages that are too long; those of tables stay."""
    return "\n".join(
        part
        for line in output.split("\n")
        for part in (
            [line]
            if len(line) <= WIDTH or TABLE.search(line)
            else textwrap.wrap(
                line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
        )
    )


def stage(pages: list[Path], library: Path) -> None:
    """Put what the blocks of these pages print into the pages."""
    texts = {str(page): page.read_text() for page in pages}
    outputs = {}
    for language in RUNNERS:
        code = {
            page: [body for kind, body in CHUNK.findall(text) if kind == language]
            for page, text in texts.items()
        }
        outputs[language] = {p: iter(o) for p, o in printed(code, language, library).items()}
    for page, text in texts.items():

        def shown(match: re.Match[str], page: str = page) -> str:
            output = wrapped(next(outputs[match[1]][page]).rstrip())
            below = f"\n```{{code-block}} text\n:class: output\n\n{output}\n```\n" if output else ""
            return f"```{match[1]}\n{match[2]}```\n{below}"

        Path(page).write_text(CHUNK.sub(shown, text))
