"""The guide: pages whose ```{python} and ```{r} blocks are run; what they print and draw is below.

A block of R that draws begins with the text of its picture, ``#| fig.alt: ``; that of a figure of
Python is made of the words on it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ALT = re.compile(r"^#\| fig\.alt: .*\n")
CHUNK = re.compile(r"^```\{(python|r)\}\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
RUNNERS = {
    "python": [sys.executable, "run_chunks.py"],
    "r": ["Rscript", "--vanilla", "run_chunks.R"],
}
SUFFIX = {"python": "py", "r": "R"}
# Characters of a line.  Columns of a table are two blanks apart, words of a message one.
WIDTH = 100
TABLE = re.compile(r"\S {2,}\S")


@dataclass(frozen=True, slots=True)
class Shown:
    """What a block printed, and what it drew."""

    text: str
    picture: bytes | None
    alt: str

    @classmethod
    def of(cls, chunk: Path) -> Shown:
        """Read what was written beside the file of a block."""
        alt, picture = chunk.with_suffix(".alt"), chunk.with_suffix(".png")
        drawn = picture.read_bytes() if alt.exists() else None
        words = alt.read_text().strip() if alt.exists() else ""
        if picture.exists() and not words:
            raise SystemExit(f"the picture of this block has no words:\n{chunk.read_text()}")
        return cls(chunk.with_suffix(".out").read_text(), drawn, words)


def environment(library: Path) -> dict[str, str]:
    """Return variables under which R finds its package, and it finds this Python."""
    needed = {"R_LIBS": str(library), "RETICULATE_PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    # R need not compile what is called a few times.
    return os.environ | needed | {"MPLBACKEND": "Agg", "R_ENABLE_JIT": "0"}


def shown(pages: dict[str, list[str]], language: str, library: Path) -> dict[str, list[Shown]]:
    """Run the chunks of each page one after the other; return what each printed and drew."""
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
                Shown.of(folder / f"{number:02}/{place:02}.{SUFFIX[language]}")
                for place in range(len(chunks))
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
    """Put what the blocks of these pages print and draw into the pages."""
    texts = {str(page): page.read_text() for page in pages}
    outputs = {}
    for language in RUNNERS:
        code = {
            page: [body for kind, body in CHUNK.findall(text) if kind == language]
            for page, text in texts.items()
        }
        outputs[language] = {p: iter(o) for p, o in shown(code, language, library).items()}
    for page, text in texts.items():

        def filled(match: re.Match[str], page: str = page) -> str:
            language, body = match[1], ALT.sub("", match[2])
            found = next(outputs[language][page])
            output = wrapped(found.text.rstrip())
            below = f"\n```{{code-block}} text\n:class: output\n\n{output}\n```\n" if output else ""
            if found.picture is not None:
                name = f"{Path(page).stem}-{language}-{match.start()}.png"
                Path(page).with_name(name).write_bytes(found.picture)
                below += f"\n![{found.alt}]({name})\n"
            return f"```{language}\n{body}```\n{below}"

        Path(page).write_text(CHUNK.sub(filled, text))
