"""The document for a reviewer, with all proofs: one PDF, made of the pages of the site.

Pandoc reads the texts and Typst sets them; both are packages of PyPI and bring all that they need.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pypandoc
import typst
from repository import HEADER, NAMED, PARTS, PROVES, ROOT, Names, tracked

from dpreg import __version__

Node = Any

# Chapters before the proofs.
PAGES = ("reviewer", "threats", "time")
# As the site reads them: no strike-out, as ~ is "distributed as" in proofs.
_READ = "commonmark+pipe_tables"
_DIVIDED = re.compile(r"^:{3,}.*$", re.MULTILINE)

_PREAMBLE = r"""
#set document(title: "dpreg VERSION: for a reviewer")
#set page(paper: "a4", margin: (x: 2.2cm, y: 2.4cm), numbering: "1",
  header: context if counter(page).get().first() > 1 {
    set text(8pt, fill: luma(90))
    [dpreg VERSION: for a reviewer]
  })
#set text(font: "Libertinus Serif", size: 10pt, lang: "en", hyphenate: true)
#set par(justify: true, leading: 0.6em)
#set heading(numbering: "1.1")
#show heading.where(level: 1): it => { pagebreak(weak: true); block(below: 1em, it) }
#show heading.where(level: 2): set block(above: 1.8em, below: 0.8em)
#show heading.where(level: 3): set heading(numbering: none)
#show heading.where(level: 3): set text(size: 10.5pt)
#show heading.where(level: 4): set heading(numbering: none)
#show link: set text(fill: rgb("#1a4f8b"))
#show raw: set text(size: 8.5pt)
// Paths and names of functions may be broken where words end in them.
#show raw.where(block: false): it => {
  show regex("[/_.,:=(]"): mark => mark + sym.zws
  it
}
#show raw.where(block: true): it => block(fill: luma(245), inset: 6pt, width: 100%, it)
#show figure: set block(breakable: true)
#show table: set text(size: 8.5pt)
#show table: set par(justify: false)
#show table.cell: set align(left)
#show table.cell.where(y: 0): strong
#set table(stroke: (x, y) => (bottom: 0.4pt + luma(180)), inset: 4pt)
#let horizontalrule = line(length: 100%, stroke: 0.4pt + luma(180))
#align(center)[
  #v(4cm)
  #text(24pt, weight: "bold")[dpreg]
  #v(0.3cm)
  #text(14pt)[Differentially private regression: what is promised, what is proved, what was tried]
  #v(0.3cm)
  Version VERSION.  Made of the pages of the site and of the proofs beside the code.
]
#pagebreak()
#outline(title: "Contents", depth: 2, indent: auto)
"""


def proofs() -> dict[str, list[str]]:
    """Return the paths of all proofs, by part, in the order of the site."""
    found: dict[str, list[str]] = {title: [] for title in PARTS.values()}
    for path in tracked():
        if path.endswith(".md") and HEADER.search((ROOT / path).read_text()):
            folder = Path(path).parent.name
            found.setdefault(PARTS.get(folder, folder.capitalize()), []).append(path)
    return {part: paths for part, paths in found.items() if paths}


def label(path: str) -> str:
    """Return the name of a place in the document."""
    return re.sub(r"\W+", "-", path.removesuffix(".md"))


def with_header(text: str) -> str:
    """Write the lines above a proof as a list."""

    def listed(match: re.Match[str]) -> str:
        code = "; ".join(
            f"`{path}`" + (f" ({', '.join(f'`{n}`' for n in names.split(','))})" if names else "")
            + f" `{mark}`"
            for path, names, mark in PROVES.findall(match[4])
        )  # fmt: skip
        return (
            f"- *Claims:* {match[2]}.\n- *Assumes:* {match[3]}.\n- *Status:* {match[1]}.\n"
            f"- *Code, and the digest of its syntax:* {code}.\n"
        )

    return HEADER.sub(listed, text, count=1)


def _read(text: str) -> dict[str, Any]:
    """Return a document of Pandoc."""
    return dict(json.loads(pypandoc.convert_text(text, "json", format=_READ)))


def blocks(text: str, level: int, target: Callable[[str], str | None], place: str) -> list[Node]:
    """Read a text, its first heading at a level and named; links go where `target` says."""
    made: list[Node] = walked(_read(_DIVIDED.sub("", text))["blocks"], target)
    headings = [block for block in made if block["t"] == "Header"]
    for number, block in enumerate(headings):
        block["c"][0] += level - 1
        block["c"][1][0] = place if number == 0 else ""
    return made


def walked(node: Node, target: Callable[[str], str | None]) -> Node:
    """Return a part of a document with its links within it, or none."""
    if isinstance(node, list):
        parts = [walked(entry, target) for entry in node]
        return [
            one
            for part in parts
            for one in (part["spliced"] if isinstance(part, dict) and "spliced" in part else [part])
        ]
    if not isinstance(node, dict):
        return node
    kind, content = node.get("t"), node.get("c")
    if kind == "Link":
        where = target(content[2][0])
        inside = walked(content[1], lambda _: None)
        if where is None:
            return {"spliced": inside}
        return {"t": "Link", "c": [content[0], inside, [where, ""]]}
    if kind == "Str" and (found := NAMED.search(content)) and (where := target(found[0])):
        words = (content[: found.start()], found[0], content[found.end() :])
        before, name, after = ({"t": "Str", "c": word} for word in words)
        return {"spliced": [before, {"t": "Link", "c": [["", [], []], [name], [where, ""]]}, after]}
    return {key: walked(value, target) for key, value in node.items()}


def document(privacy: Path) -> str:
    """Return the document as Typst reads it.

    Parameters
    ----------
    privacy : Path
        Of the folder with the pages on privacy, filled in.
    """
    names, parts = Names(tracked()), proofs()
    places = {path: f"#{label(path)}" for paths in parts.values() for path in paths}
    places |= {f"{privacy.name}/{page}.md": f"#{page}" for page in PAGES}

    def target_from(folder: str) -> Callable[[str], str | None]:
        def target(given: str) -> str | None:
            if given.startswith("https:"):
                return given
            path = given.partition("#")[0].lstrip("/")
            beside = f"{folder}/{path}"
            return places.get(path) or places.get(beside) or places.get(
                names.meant(path, folder) or "")  # fmt: skip

        return target

    found: list[Node] = []
    for page in PAGES:
        text = (privacy / f"{page}.md").read_text()
        found += blocks(text, 1, target_from(privacy.name), page)
    for part, paths in parts.items():
        found += blocks(f"# Proofs: {part}", 1, lambda _: None, "")
        for path in paths:
            text = with_header((ROOT / path).read_text())
            found += blocks(text, 2, target_from(str(Path(path).parent)), label(path))
    whole = json.dumps({**_read(""), "blocks": found})
    body = pypandoc.convert_text(whole, "typst", format="json", extra_args=["--wrap=none"])
    return _PREAMBLE.replace("VERSION", __version__) + body


def write(privacy: Path) -> None:
    """Write the PDF beside its pages."""
    (privacy / "dpreg-review.pdf").write_bytes(typst.compile(document(privacy).encode()))
