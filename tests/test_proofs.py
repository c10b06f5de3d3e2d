"""Every claim has a proof, and every proof covers the code as it is now."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
from pins import digest, pins

from dpreg.estimation import methods, selection
from dpreg.estimation.releases.standardisation import Standardisation

ROOT = Path(__file__).parents[1]
PROOFS = sorted(p for top in ("cpp/src", "python/dpreg") for p in (ROOT / top).rglob("*.md"))
FIELDS = ("guarantee", "neighbours", "public", "proof")


def identifier(path):
    """Where the file lies in the repository, though the one that runs may be an installed copy."""
    if any(path.is_relative_to(ROOT / top) for top in ("cpp", "python")):
        return str(path.relative_to(ROOT))
    parts = path.parts
    return "python/" + "/".join(parts[len(parts) - 1 - parts[::-1].index("dpreg") :])


@pytest.mark.parametrize("proof", PROOFS, ids=identifier)
def test_proof_covers_the_code_as_it_is_now(proof):
    text = proof.read_text()
    proved = pins(text)
    assert proved, "a proof must name the files it covers"
    assert len(proved) == len(re.findall("^proves:", text, re.MULTILINE)), "a line that is no pin"
    status = re.search(r"^status: (?:unreviewed|reviewed \d).*$", text, re.MULTILINE)[0]
    assert len(status.split()) <= 60, "who has read it, when, and what its author alone has"
    assert re.search(r"^claims: .+\nassumes: .+\nproves:", text, re.MULTILINE)
    assert re.findall("^## (.+)", text, re.MULTILINE)[:2] == ["Statement", "Assumptions"]
    for path, names, old in proved:
        now = digest(path, (ROOT / path).read_text(), names)
        assert now == old, f"{path} changed: re-read it, then run .ci/proofs"


FUNCTION = '''
from a import b


class Sum:
    """Words."""

    def total(self, x):
        """Words."""
        return b(x) + self.one() + USED  # a remark

    def one(self):
        return 1

    def other(self):
        return 7


LIMIT = 3
USED = 5
'''


@pytest.mark.parametrize("names", [(), ("Sum",), ("Sum.total",)])
def test_words_and_imports_change_no_pin_and_syntax_does(names):
    pin = digest("a.py", FUNCTION, names)
    for old, new in (("Words.", "Other words."), ("a remark", "another"), ("from a", "from c")):
        assert digest("a.py", FUNCTION.replace(old, new), names) == pin
    for old, new in (("b(x) +", "b(x) -"), ("return 1", "return 2"), ("= 5", "= 6")):
        assert digest("a.py", FUNCTION.replace(old, new), names) != pin
    assert (digest("a.py", FUNCTION.replace("= 3", "= 4"), names) != pin) == (not names)
    assert (digest("a.py", FUNCTION.replace("7", "8"), names) != pin) == ("Sum.total" not in names)


def test_a_pin_of_a_name_that_is_gone_is_an_error():
    with pytest.raises(KeyError):
        digest("a.py", FUNCTION, ["Sum.mean"])


def test_comments_and_layout_of_cpp_change_no_pin_and_code_does():
    code = '#include <a>\nint f() { return g("// text"); }  // a remark\n'
    pin = digest("a.cpp", code)
    assert digest("a.cpp", code.replace("a remark", "none").replace("{ ", "{\n  ")) == pin
    assert digest("a.cpp", code.replace("// text", "// words")) != pin


def test_what_proofs_and_sources_refer_to_is_there():
    sources = [p for top in ("cpp", "python/dpreg") for p in (ROOT / top).rglob("*.?*")]
    texts = [p for p in sources if p.suffix in (".md", ".py", ".hpp", ".cpp")]
    there = {p.name for p in (*sources, *(ROOT / "tests/benchmarks").glob("*.md"))}
    named = {(p.name, name) for p in texts for name in re.findall(r"\w+\.md\b", p.read_text())}
    assert len(named) > 100
    assert not {pair for pair in named if pair[1] not in there}


def test_what_proofs_put_in_backticks_is_in_the_code():
    kinds = {".py", ".hpp", ".cpp", ".R", ".pyi"}
    tops = ("cpp", "python", "rwrapper", "tests")
    files = [p for top in tops for p in (ROOT / top).rglob("*") if p.suffix in kinds]
    there = set(re.findall(r"\w+", "\n".join(p.read_text() for p in files)))
    there |= {p.stem for p in files} | set(re.findall(r"\w+", (ROOT / "Makefile").read_text()))
    known = {p.name for p in files}
    for proof in PROOFS:
        text = re.sub("^(proves|status):.*$", "", proof.read_text(), flags=re.MULTILINE)
        said = [word for of in re.findall("`([^`\n]+)`", text) for word in re.findall(r"\w+", of)]
        assert not {word for word in said if word not in there and not word.isdigit()}, proof
        named = re.findall(r"\b\w+\.(?:py|hpp|cpp|R)\b", text)
        assert not {name for name in named if name not in known}, proof


def covered():
    return {pin.path for proof in PROOFS for pin in pins(proof.read_text())}


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
