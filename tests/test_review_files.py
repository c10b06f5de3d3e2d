"""The files that reviewers and archives read agree with the package and with one another."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

import dpreg

ROOT = Path(__file__).parents[1]
PAPER = (ROOT / "vignettes/paper/paper.md").read_text()
REVIEW = sorted((ROOT / "vignettes/site/pages/review").glob("*.md"))


def test_metadata_names_this_version():
    citation = (ROOT / ".github/CITATION.cff").read_text()
    assert re.search(rf"^version: {re.escape(dpreg.__version__)}$", citation, re.MULTILINE)
    meta = json.loads((ROOT / ".github/codemeta.json").read_text())
    assert meta["version"] == dpreg.__version__
    assert (ROOT / meta["readme"]).exists()
    assert (ROOT / meta["softwareHelp"]).exists()
    assert (ROOT / meta["contIntegration"]).exists()
    for name in ("CITATION.cff", "codemeta.json"):
        assert f".github/{name}" in (ROOT / ".github/RELEASING.md").read_text()


def test_the_recipe_for_conda_has_what_the_package_needs():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / ".github/conda/recipe.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert recipe["context"]["version"] == dpreg.__version__

    def spelled(requirements):
        return {requirement.replace(" ", "") for requirement in requirements}

    assert spelled(recipe["requirements"]["run"]) - {"python"} == set(
        project["project"]["dependencies"]
    )
    host = spelled(recipe["requirements"]["host"]) - {"python", "pip"}
    assert host == set(project["build-system"]["requires"])
    (script,) = (f"{k} = {v}" for k, v in project["project"]["scripts"].items())
    assert recipe["build"]["python"]["entry_points"] == [script]
    assert project["project"]["requires-python"] == f">={recipe['context']['python_min']}"


def test_all_that_builds_a_release_is_pinned_with_hashes():
    from packaging.requirements import Requirement

    lines = (ROOT / ".ci/release.in").read_text().splitlines()
    wanted = [Requirement(line) for line in lines if not line.startswith("#")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted += [Requirement(line) for line in project["build-system"]["requires"]]
    blocks = re.split(r"\n(?=\S)", (ROOT / ".ci/release.txt").read_text().strip())
    pinned = {}
    for block in blocks:
        name, version = re.match(r"([\w-]+)==([\w.]+) \\\n", block).groups()
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), name
        pinned[name] = version
    for one in wanted:
        assert one.specifier.contains(pinned[one.name]), one
    assert "--require-hashes -r .ci/release.txt" in (ROOT / "Makefile").read_text()


def test_the_paper_has_what_the_journal_asks_for():
    sections = re.findall(r"^# (.+)$", PAPER, re.MULTILINE)
    for wanted in ("Summary", "Statement of need", "State of the field", "Software design",
                   "Research impact statement", "AI usage disclosure", "References"):  # fmt: skip
        assert wanted in sections
    lines = PAPER.partition("---\n\n")[2].splitlines()
    words = sum(len(line.split()) for line in lines if not line.startswith("|"))
    assert 750 <= words <= 1750


def test_what_the_paper_cites_is_in_its_bibliography():
    entries = re.findall(r"^@\w+\{(\w+),", (ROOT / "vignettes/paper/paper.bib").read_text(), re.M)
    cited = set(re.findall(r"@(\w+)", PAPER.partition("---\n\n")[2]))
    assert cited == set(entries)
    assert len(entries) == len(set(entries))
    for picture in re.findall(r"\]\((\w+\.png)\)", PAPER):
        assert (ROOT / "vignettes/paper" / picture).exists()


def test_files_that_the_paper_names_are_there():
    for name in re.findall(r"`((?:vignettes|tests)/[^`]+)`", PAPER):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("page", REVIEW, ids=lambda p: p.stem)
def test_an_item_of_a_checklist_that_is_not_done_says_what_is_missing(page):
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", page.read_text(), re.MULTILINE)
    assert len(rows) >= 4
    for item, state in rows:
        if state.startswith(("**no**", "partly")):
            assert re.match(r"(\*\*no\*\*|partly): .{8,}", state), item


def test_guidelines_for_the_community_are_linked():
    readme = (ROOT / "README.md").read_text()
    contributing = (ROOT / ".github/CONTRIBUTING.md").read_text()
    assert "(.github/CONTRIBUTING.md)" in readme
    assert "`.github/CODE_OF_CONDUCT.md`" in contributing
    assert "`.github/SECURITY.md`" in contributing
