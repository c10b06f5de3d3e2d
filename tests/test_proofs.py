"""Every claim has a proof, and every proof covers the code as it is now."""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
from pathlib import Path

import pytest

from dpreg import methods, selection
from dpreg.sums.standardisation import Standardisation

ROOT = Path(__file__).parents[1]
PROOFS = sorted(p for top in ("cpp/src", "python/dpreg") for p in (ROOT / top).rglob("*.md"))
PROVES = re.compile(r"^proves: (\S+) (\S+)$", re.MULTILINE)
FIELDS = ("guarantee", "neighbours", "public", "proof")


def git_blob(path):
    """The id git gives this content, so `git show <id>` prints what was proved."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def identifier(path):
    """Where the file lies in the repository, though the one that runs may be an installed copy."""
    if any(path.is_relative_to(ROOT / top) for top in ("cpp", "python")):
        return str(path.relative_to(ROOT))
    parts = path.parts
    return "python/" + "/".join(parts[len(parts) - 1 - parts[::-1].index("dpreg") :])


@pytest.mark.parametrize("proof", PROOFS, ids=identifier)
def test_proof_covers_the_code_as_it_is_now(proof):
    text = proof.read_text()
    proved = PROVES.findall(text)
    assert proved, "a proof must name the files it covers"
    assert len(proved) == len(re.findall("^proves:", text, re.MULTILINE)), "a file without its id"
    assert re.search(r"^status: (unreviewed|reviewed .+)$", text, re.MULTILINE)
    assert "## Statement" in text
    for path, blob in proved:
        assert git_blob(ROOT / path) == blob, f"{path} changed: re-read it, then run .ci/proofs"


def test_what_proofs_and_sources_refer_to_is_there():
    sources = [p for top in ("cpp", "python/dpreg") for p in (ROOT / top).rglob("*.?*")]
    texts = [p for p in sources if p.suffix in (".md", ".py", ".hpp", ".cpp")]
    there = {p.name for p in (*sources, *(ROOT / "tests/benchmarks").glob("*.md"))}
    named = {(p.name, name) for p in texts for name in re.findall(r"\w+\.md\b", p.read_text())}
    assert len(named) > 100
    assert not {pair for pair in named if pair[1] not in there}


def covered():
    return {path for proof in PROOFS for path, _ in PROVES.findall(proof.read_text())}


MECHANISMS = sorted((ROOT / "cpp/src/mechanisms").glob("*.cpp"))


@pytest.mark.parametrize("source", MECHANISMS, ids=identifier)
def test_every_mechanism_has_a_contract_a_proof_and_a_test(source):
    assert identifier(source) in covered()
    header = ROOT / "cpp/include/dpreg/mechanisms" / f"{source.stem}.hpp"
    assert "/// Privacy" in header.read_text()
    tests = "".join(p.read_text() for p in (ROOT / "tests").rglob("*.py"))
    called = re.findall(r"^[\w:<>,\s&*]+?\b(\w+)\(", header.read_text(), re.MULTILINE)
    assert any(re.search(rf"_core\.(testing\.)?{name}\(", tests) for name in called)


OPTIONS = [
    *methods.METHODS.values(),
    *selection.SELECTORS.values(),
    Standardisation,
]
METHODS = sorted({Path(inspect.getsourcefile(options)) for options in OPTIONS})


@pytest.mark.parametrize("source", METHODS, ids=identifier)
def test_every_method_has_a_claim_a_proof_and_a_test(source):
    assert identifier(source) in covered()
    classes = [n for n in ast.parse(source.read_text()).body if isinstance(n, ast.ClassDef)]
    claims = [ast.get_docstring(c) or "" for c in classes if not c.name.startswith("_")]
    assert any("Privacy\n-------" in c and all(f"{f} :" in c for f in FIELDS) for c in claims)
    folder = source.parent.name
    assert (ROOT / "tests" / folder / f"test_{source.stem}.py").exists()
