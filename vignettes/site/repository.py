"""Texts of the repository as pages: laid out as there, with a page for each file they name."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The page of a text is where the text is, but for these.
MOVED = {
    ".github/SECURITY.md": "security",
    ".github/CONTRIBUTING.md": "contributing",
    ".github/CODE_OF_CONDUCT.md": "conduct",
    "rwrapper/NEWS.md": "changelog",
}
LEFT_OUT = ("README.md", ".github/RELEASING.md", "vignettes/site/", "vignettes/paper/")

HEADER = re.compile(
    r"^status: (.+)\nclaims: (.+)\nassumes: (.+)\n((?:proves: .+\n)+)", re.MULTILINE
)
PROVES = re.compile(r"^proves: ([^\s:]+)(?:::(\S+))? (\S+)$", re.MULTILINE)
NAMED = re.compile(r"(?<![\w/.-])(?:[\w.-]+/)*[\w-]+\.(?:py|cpp|hpp|md|Rmd|R|csv)\b")
LANGUAGES = {".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".R": "r"}


def tracked() -> list[str]:
    """Return the files of the repository, new ones that are not ignored among them."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if (ROOT / path).exists()]


class Names:
    """Which file of the repository a text means by a name."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = frozenset(paths)
        self.short: dict[str, str | None] = {}
        for path in paths:
            name = Path(path).name
            self.short[name] = None if name in self.short else path

    def meant(self, name: str, folder: str) -> str | None:
        """Look beside the text, then from the top, in the package, and for a name that is rare."""
        for start in (folder, "", "python", "python/dpreg"):
            path = f"{start}/{name}" if start else name
            if path in self.paths:
                return path
        return self.short.get(name)


def title(text: str) -> str:
    """Return the heading of a page."""
    return text.splitlines()[0].removeprefix("# ")


def covered(pin: tuple[str, str, str]) -> str:
    """Return an entry for a file that a proof covers, all of it or the functions named."""
    path, names, mark = pin
    only = "".join(f", `{name}`" for name in names.split(",") if name)
    return f"- `{path}`{only}, syntax `{mark}`\n"


def proof_page(text: str) -> str:
    """Show the header of a proof as a note whose files are links."""

    def note(match: re.Match[str]) -> str:
        files = "".join(map(covered, PROVES.findall(match[4])))
        inside = f"{files}\nStatus: {match[1]}"
        claim = f"Claim: {match[2]}.\n\nAssumes: {match[3]}.\n"
        return f"{claim}\n:::{{admonition}} This proof covers\n:class: proof\n\n{inside}\n:::\n"

    return HEADER.sub(note, text, count=1)


def changelog(news: str) -> str:
    """Make one page of the headings of versions."""
    return "# Changelog\n\n" + re.sub(r"^#", "##", news, flags=re.MULTILINE)


# From what noise is to what a call returns; a folder that is not here comes last.
PARTS = {
    "noise": "Noise",
    "stats": "What one record or unit does to a statistic",
    "mechanisms": "Mechanisms",
    "privacy": "Budgets",
    "data": "Reading and charging",
    "sums": "Released sums",
    "releases": "Released sums",
    "newton": "Noisy Newton steps",
    "blocks": "Blocks of rows",
    "methods": "Whole methods",
    "selection": "Selection",
}


def proof_list(proofs: dict[str, str]) -> str:
    """Return all proofs on a page: what each claims and assumes, and who has read it."""
    parts: dict[str, list[str]] = {title: [] for title in PARTS.values()}
    for path, text in proofs.items():
        folder = Path(path).parent.name
        status, claims, assumes, _ = HEADER.search(text).groups()  # type: ignore[union-attr]
        read = max(re.findall(r"\d{4}-\d\d-\d\d", status), default="unreviewed")
        if "author alone" in status:
            read += ", in part by its author alone"
        row = f"| [{title(text)}](/{path}) | {claims} | {assumes} | {read} |"
        parts.setdefault(PARTS.get(folder, folder), []).append(row)
    head = "| proof | claims | assumes | last read |\n|---|---|---|---|"
    lists = [f"## {part}\n\n{head}\n" + "\n".join(rows) for part, rows in parts.items() if rows]
    hidden = "\n".join(f"/{path.removesuffix('.md')}" for path in proofs)
    return "\n\n".join([*lists, f"```{{toctree}}\n:hidden:\n\n{hidden}\n```\n"])


def with_all_benchmarks(evidence: str, texts: dict[str, str]) -> str:
    """Put what was measured, and is not in the table of the page yet, at its end."""
    more = [p for p in texts if p.startswith("tests/benchmarks/") and f"({p})" not in evidence]
    rows = "".join(f"| {title(texts[p])} | [{Path(p).stem}]({p}) |\n" for p in more)
    pages = "".join(p.removesuffix(".md") + "\n" for p in more)
    return evidence.replace("<!-- rows -->\n", rows).replace("<!-- pages -->\n", pages)


def source_page(path: str) -> str:
    language = LANGUAGES.get(Path(path).suffix, "text")
    return (
        f"---\norphan: true\nnosearch: true\n---\n# {path}\n\n"
        f"```{{literalinclude}} /{path}\n:language: {language}\n:linenos:\n```\n"
    )


def stage(out: Path) -> dict[str, str]:
    """Write the pages of texts and sources; return the page of each file that has one."""
    paths = tracked()
    names = Names(paths)
    kept = [path for path in paths if not path.startswith(LEFT_OUT)]
    texts = {path: (ROOT / path).read_text() for path in kept if path.endswith(".md")}
    scripts = [p for p in kept if p.endswith(".py") and Path(p).parent == Path("vignettes")]
    pages = {path: MOVED.get(path, path.removesuffix(".md")) for path in texts}
    pages |= {path: path.removesuffix(".py") for path in scripts}
    pages |= {path: path.removesuffix(".Rmd") for path in kept if path.endswith(".Rmd")}

    for path, text in texts.items():
        target = out / f"{pages[path]}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(changelog(text) if pages[path] == "changelog" else proof_page(text))
    pictures = (p for p in kept if p.startswith("tests/benchmarks/") and p.endswith(".png"))
    for path in pictures:
        shutil.copy(ROOT / path, out / path)

    written = (ROOT / "vignettes/site").rglob("*.md")
    site = {str(page.relative_to(ROOT)): page.read_text() for page in written}
    read = texts | {path: (ROOT / path).read_text() for path in scripts} | site
    for path, text in read.items():
        for name in NAMED.findall(text):
            found = names.meant(name, str(Path(path).parent))
            if found is None or found in pages or found.endswith(".md"):
                continue
            pages[found] = found
            target = out / f"{found}.md"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(source_page(found))
            shutil.copy(ROOT / found, out / found)
    proofs = {path: text for path, text in texts.items() if HEADER.search(text)}
    (out / "privacy").mkdir(exist_ok=True)
    template = out / "privacy/proofs.md"
    template.write_text(template.read_text().replace("<!-- list -->", proof_list(proofs)))
    listed = "".join(site.values())
    unlisted = [pages[path] for path in scripts if f"\n{pages[path]}\n" not in listed]
    index = out / "index.md"
    index.write_text(index.read_text().replace("<!-- scripts -->", "\n".join(unlisted)))
    evidence = out / "evidence.md"
    evidence.write_text(with_all_benchmarks(evidence.read_text(), texts))
    return pages
