"""The files of the site: complete, linked, and without anything from elsewhere."""

from __future__ import annotations

import functools
import html
import importlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pins import pins
from scipy import stats

ROOT = Path(__file__).parents[2]
VIGNETTES = sorted((ROOT / "vignettes").glob("*.py"))
OF_R = sorted((ROOT / "rwrapper/vignettes").glob("*.Rmd"))
PROOFS = sorted(p for top in ("cpp/src", "python/dpreg") for p in (ROOT / top).rglob("*.md"))


# Most tags are those of the colours of code: without them, and without text, a fifth of the time.
TAGS = re.compile(r"<\w[^>]*\s(?:href|id|name|src)\s*=[^>]*>|</script>")


class Links(HTMLParser):
    """What a page refers to, what it loads, and the places in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed("".join(TAGS.findall(page.read_text())))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.targets.append(given["href"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])
        if given.get("src"):
            self.loaded.append(given["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {page: Links(page) for page in sorted(site.rglob("*.html"))}


@functools.cache
def place(folder, path):
    """Return the file that a path from a folder leads to: pages of a folder share most of them."""
    found = (folder / path).resolve()
    return found / "index.html" if found.is_dir() else found


def test_links_lead_somewhere(site, pages):
    assert len(pages) > 150
    there = {path for path in site.rglob("*") if path.is_file()}
    for page, links in pages.items():
        for target in links.targets + links.loaded:
            parts = urlsplit(target)
            if parts.scheme in ("https", "mailto", "data"):
                continue
            assert not parts.scheme, f"{page}: {target}"
            found = place(page.parent, unquote(parts.path)) if parts.path else page
            assert found in there, f"{page}: {target}"
            if parts.fragment and found.suffix == ".html":
                assert unquote(parts.fragment) in pages[found].places, f"{page}: {target}"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for page, links in pages.items():
        for target in links.loaded:
            assert not urlsplit(target).netloc, f"{page}: {target}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(.?(https?:)?//|@import", sheet.read_text()), sheet


def test_no_page_says_where_it_was_built(pages):
    for page in pages:
        text = page.read_text()
        assert str(ROOT) not in text, page
        assert str(Path.home()) + "/" not in text, page
        assert "Traceback" not in text, page


def test_the_first_page_has_a_fit_and_its_picture(site):
    text = (site / "index.html").read_text()
    assert re.search(r'<img alt="Coefficients of the log price [^"]+" src="_images/first_fit', text)
    assert "costs about" in text
    assert "<!-- " not in text.partition("<article")[2].partition("</article>")[0]


def test_vignettes_of_r_have_100_columns_and_rounded_numbers(site):
    pages = sorted((site / "rwrapper/vignettes").glob("*.html"))
    assert len(pages) == len(OF_R)
    for page in pages:
        for block in re.findall(r"<pre>(.*?)</pre>", page.read_text(), re.DOTALL):
            text = html.unescape(re.sub("<[^>]+>", "", block))
            assert max(map(len, text.splitlines())) <= 100, (page.name, text)
            assert not re.search(r"\d\.\d{8}", text), (page.name, text)


def test_printed_output_of_the_guide_and_the_vignettes_has_100_columns(site):
    blocks = []
    for page in sorted([*(site / "guide").glob("*.html"), *(site / "vignettes").glob("*.html")]):
        text = page.read_text()
        found = re.findall(r'<div class="output[^"]*">.*?<pre>(.*?)</pre>', text, re.DOTALL)
        blocks += [(page.name, html.unescape(re.sub("<[^>]+>", "", block))) for block in found]
    assert len(blocks) > 40
    for name, block in blocks:
        assert max(map(len, block.splitlines())) <= 100, (name, block)


@pytest.mark.parametrize(
    "module", ["dpreg", "dpreg.mechanisms", "dpreg.reference", "dpreg.sklearn"]
)
def test_every_public_name_of_python_has_a_page(site, module):
    # Modules have their own lists; results have their pages where they are returned.
    apart = {"__version__", "audit", "mechanisms", "reference", "NotReleasedError"}
    for name in set(importlib.import_module(module).__all__) - apart:
        page = site / f"reference/python/{module}.{name}.html"
        assert f'id="{module}.{name}"' in page.read_text(), name


def test_every_function_of_r_has_a_page(site):
    pages = "".join(page.read_text() for page in (site / "reference/r").glob("*.html"))
    assert "Rd_expr" not in pages
    exported = re.findall(r"^export\((\w+)\)$", (ROOT / "rwrapper/NAMESPACE").read_text(), re.M)
    assert exported
    for name in exported:
        assert re.search(rf"\b{name}\b", pages), name


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_every_proof_links_to_what_it_covers(site, pages, proof):
    page = site / proof.relative_to(ROOT).with_suffix(".html")
    text, linked = page.read_text(), {place(page.parent, target) for target in pages[page].targets}
    for path, _, mark in pins(proof.read_text()):
        assert mark in text
        assert (site / f"{path}.html").resolve() in linked


# What a page draws and prints, beside anything at all.
DRAWN = {
    "getting_started": (1, "Private Linear Regressions"),
    "gallery": (7, "intervals 1."),
    "method_and_epsilon": (3, "Not released: y ~ x0"),
    "custodian": (2, "- BudgetError: budget: dp_lm"),
    "budget_year": (1, "ended by SIGKILL: True"),
    "one_release": (1, "of eps is left"),
    "sparse_regression": (1, "100,000 x 20,000"),
    "families": (1, "Private Poisson Regression Results"),
    "real_populations": (2, "of 36 intervals cover"),
    "large_data": (0, "Private Linear Regression"),
    "survival": (1, "Private Survival, sex=F"),
    "panels": (1, "fixed effects of 'year' are not supported"),
    "extras": (1, "of new stones lie"),
    "privacy_model": (0, "NOT PRIVATE"),
}


def outputs_of(site, name):
    """Return what the cells of a vignette gave when the site ran them."""
    notebook = json.loads((site.parent / f"source/vignettes/{name}.ipynb").read_text())
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def printed_in(outputs, stream):
    texts = (o["text"] for o in outputs if o["output_type"] == "stream" and o["name"] == stream)
    return "".join("".join(text) for text in texts)


@pytest.mark.parametrize("script", VIGNETTES, ids=lambda path: path.stem)
def test_every_vignette_runs_prints_and_draws(site, script):
    page = (site / f"vignettes/{script.stem}.html").read_text()
    assert 'class="output stream' in page or "_images/" in page
    outputs = outputs_of(site, script.stem)
    said = {name: printed_in(outputs, name) for name in ("stdout", "stderr")}
    assert "Warning" not in said["stderr"]
    figures, printed = DRAWN.get(script.stem, (0, ""))
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= figures
    assert page.count("_images/") >= figures
    assert printed in said["stdout"]


@pytest.mark.parametrize("method", ["least squares", "boosted_adassp"])
def test_intervals_cover_on_the_small_grid(site, method):
    text = " ".join(printed_in(outputs_of(site, "coverage"), "stdout").split())
    assert "## Coverage, %" in text
    line = text.partition(f"- {method}: ")[2].partition(" of these cover.")[0]
    all_slopes, given, covered = map(int, re.findall(r"(\d+) slopes (\d+) .* (\d+)$", line)[0])
    assert all_slopes == 280
    assert given > 270  # where a coefficient has an interval
    # Independent intervals fall below this with probability 4e-7; the seeds are fixed.
    assert covered >= stats.binom.ppf(1e-6, given, 0.95)


def test_what_is_known_of_vignettes_is_of_those_there_are():
    assert set(DRAWN) < {script.stem for script in VIGNETTES}


@pytest.mark.parametrize("vignette", OF_R, ids=lambda path: path.stem)
def test_every_vignette_of_r_was_run(site, vignette):
    assert "#&gt;" in (site / f"rwrapper/vignettes/{vignette.stem}.html").read_text()


def test_search_knows_the_manual_of_r_and_not_the_code(site):
    index = (site / "searchindex.js").read_text()
    index = json.loads(index.removeprefix("Search.setIndex(").removesuffix(")"))
    places = index["terms"]["moments_r2"]
    found = {
        index["docnames"][place] for place in (places if isinstance(places, list) else [places])
    }
    assert "reference/r/dp_moments" in found
    assert not any(name.endswith((".py", ".cpp")) for name in found)


def test_the_list_of_pages_shows_which_is_open(site):
    """The list is the same text for a whole folder, in which each page is marked."""
    text = (site / "privacy/proofs.html").read_text()
    opened = '<li class="toctree-l1 current has-children current-page"><a class="current reference'
    assert text.count("current-page") == text.count(opened) == 1
    text = (site / "cpp/src/mechanisms/peel.html").read_text()
    assert text.count("current-page") == text.count('current-page"><a class="current') == 1
    assert re.search(r'l1 current has-children"><a [^>]*>Proofs</a><input [^>]*checked=""', text)
    assert "current-page" not in (site / "tests/audit/full.py.html").read_text()
