"""The help pages of the R package and of the shell, as pages of the site."""

from __future__ import annotations

import html
import re
import subprocess
import tempfile
from pathlib import Path

import click

from dpreg.faces.cli.commands import dpreg as shell

HERE = Path(__file__).parent
MAN = HERE.parents[1] / "rwrapper/man"
# What the index of R shows under which heading; topics that are not here come last.
TOPICS = {
    "Fits": (
        "dp_lm", "dp_glm", "Quantile", "dp_select", "dp_moments", "dp_test", "dp_curve",
        "dp_effect", "dp_survival", "dp_classes", "public_start",
        "dp_not_released",
    ),
    "Results": (
        "dp_lm_methods", "predict.dp_lm", "anova.dp_lm", "update.dp_lm", "dp_lm_tidiers",
        "dp_compare", "fit_stats", "dp_plots", "dp_autoplots", "dp_lm_packages",
    ),
    "Plans and budgets": ("dp_plan", "dp_budget", "dp_partition", "dp_records", "dp_padded"),
    "Options": ("dp_methods", "dp_selectors"),
    "The package": (
        "dpreg-package", "install_dpreg", "dpreg_available", "load_diamonds", "diamonds",
        "reexports",
    ),
}  # fmt: skip
SECTION = re.compile(r"<h3>(.*?)</h3>", re.DOTALL)
CODE = re.compile(r"<pre><code class='language-R'>(.*?)</code></pre>", re.DOTALL)
ANCHOR = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.DOTALL)
EMPTY = re.compile(r"````\{raw\} html\n<div class='rd-page'>\s*</div>\n````\n?")
TAG = re.compile(r"<[^>]+>")


def _fenced(match: re.Match[str]) -> str:
    code = html.unescape(TAG.sub("", match[1])).strip("\n")
    return f"</div>\n````\n\n```r\n{code}\n```\n\n````{{raw}} html\n<div class='rd-page'>"


def _anchor(match: re.Match[str]) -> str:
    target, shown = match.groups()
    # Pages of other packages are not here.
    inside = "/" not in target and target.endswith(".html")
    return f'<a href="{target}">{shown}</a>' if inside else shown


def r_page(topic: str, document: str) -> tuple[str, str]:
    """Return title and text of a help page that R made."""
    title = html.unescape(TAG.sub("", re.search(r"<h2>(.*?)</h2>", document, re.DOTALL)[1]))
    body = document.split("</h2>", 1)[1].rsplit("</div>", 1)[0]
    body = ANCHOR.sub(_anchor, body).replace("<table>", '<table class="docutils">')
    _, *parts = SECTION.split(body)
    text = f"# {topic}\n\n{title}.\n"
    for heading, content in zip(parts[::2], parts[1::2], strict=True):
        raw = f"````{{raw}} html\n<div class='rd-page'>{CODE.sub(_fenced, content)}</div>\n````"
        # Nothing is between code and the ends of a section.
        raw = EMPTY.sub("", raw)
        text += f"\n## {html.unescape(TAG.sub('', heading))}\n\n{raw}\n"
    return title, text


def stage_r(out: Path) -> None:
    """Write the help pages of R and their index."""
    found = {page.stem for page in MAN.glob("*.Rd")}
    listed = {topic for topics in TOPICS.values() for topic in topics}
    if listed - found:
        raise SystemExit(f"there are no help pages of R for {sorted(listed - found)}")
    headings = TOPICS | ({"More": tuple(sorted(found - listed))} if found - listed else {})
    folder = out / "reference/r"
    folder.mkdir(parents=True)
    titles = {}
    with tempfile.TemporaryDirectory() as pages:
        subprocess.run(["Rscript", "--vanilla", HERE / "manual.R", MAN, pages], check=True)
        for page in Path(pages).glob("*.html"):
            titles[page.stem], text = r_page(page.stem, page.read_text())
            (folder / f"{page.stem}.md").write_text(text)
    lines: list[str] = []
    for heading, topics in headings.items():
        rows = [f"| [`{topic}`](r/{topic}.md) | {titles[topic]} |" for topic in topics]
        lines += [f"## {heading}", "", "| topic | title |", "|---|---|", *rows, ""]
    lines += ["```{toctree}", ":hidden:", "", *(f"r/{t}" for t in sorted(found)), "```", ""]
    _fill(out / "reference/r.md", "\n".join(lines))


def stage_shell(out: Path) -> None:
    """Write what the shell says about each command."""
    lines: list[str] = []

    def describe(command: click.Command, name: str, level: int) -> None:
        context = click.Context(command, info_name=name, terminal_width=90, max_content_width=90)
        said = command.get_help(context)
        lines.extend([f"{'#' * level} {name}", "", "```text", said, "```", ""])
        for word, inner in sorted(getattr(command, "commands", {}).items()):
            describe(inner, f"{name} {word}", min(level + 1, 3))

    describe(shell, "dpreg", 2)
    _fill(out / "reference/shell.md", "\n".join(lines))


def _fill(page: Path, content: str) -> None:
    page.write_text(page.read_text().replace("<!-- pages -->", content))
