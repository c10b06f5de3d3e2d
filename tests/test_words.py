"""User-facing text is plain English in the terms of the field.

Searched are the messages and public docstrings of the Python package, the messages, the help pages
and the news of the R package, the vignettes, the pages of the site and the README.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import dpreg

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/dpreg"

# What not to write, and what to write instead.
IDIOMS = {
    r"\b(tells?|told|telling)\b": "estimate, detect, distinguish, say",
    r"(?<!there )\b(is|are) no (?!longer|more|less|fewer|larger|smaller|greater|better|worse)": (
        "is not a, has no, or a rephrased sentence"
    ),
    r"\bcounts? less\b": "are clipped, are down-weighted",
    r"\b(as|than) usual\b|\bthe usual\b|\bis usual\b": "typical, median, common",
    r"\b(long(er|est)?|short(er|est)?) (rows?|scores?)\b|\bshortened\b": "clipped",
    r"\b(that|so|this|too|any|certain) way\b|\bthe way is\b": "step, like this, in this case",
    r"\broots? of (shortened|residuals|scores?)\b": "solution",
    r"\bbent\b": "curvature-corrected",
    r"\bpull(s|ed)?\b": "ridge penalty, shrunk",
    r"\bwhoever\b": "anyone who, or a rephrased sentence",
    r"\bha(s|ve) no use for\b|\bno use for\b": "does not support, does not use",
    r"\b(a|one) (row|column|screen|task|line|number|value|part|level) an? \w+": "one row per ...",
    r"\bcells? (is|are) private\b": "its values are private",
    r"\bprotects? nobody\b": "gives no meaningful protection",
    r"\bhow far (a|the) (release|fit) ha(s|ve)\b": "the progress of the release",
    r"\bpublic simulations lose\b": "expected loss of R squared",
    r"\bchance of an? \w+ to be\b": "probability that ... is",
    r"\bweighed\b": "weighted",
    r"\bhardly\b": "barely, or a number",
    r"\bdearest\b": "most expensive, largest",
    r"\bhonest(ly)?\b": "valid",
    r"\bmade(-| )up\b": "simulated",
    r"(?<!--)(?<!no-)(?<!<!-- )\bpictures?\b": "plot",  # not the options of the demo
    r"\b(no|the) spread\b": "scale, variance, standard deviation",
    r"\bbut for (events|the|those|a few)\b": "except for",
    r"\bfound privately\b": "estimated privately",
    r"\bmiddle of (these |those |\d+ )?fits\b": "median",
    r"\bthe least (eps|number|n|units|rows)\b": "smallest",
    r"\badd(s|ed)? up (its|their) own\b": "sums its own",
    r"\btaken? off\b": "subtract",
}


def messages() -> Iterator[tuple[str, str]]:
    """Strings with a blank in them that are not docstrings, of all modules of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if text and id(node) not in documented and " " in node.value:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


def public_objects() -> Iterator[tuple[str, object]]:
    """Everything that `dir()` of the public modules leads to, methods and properties included."""
    modules = {"dpreg": dpreg, "dpreg.mechanisms": dpreg.mechanisms,
               "dpreg.reference": dpreg.reference, "dpreg.audit": dpreg.audit}  # fmt: skip
    for home, module in modules.items():
        yield home, module
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, types.ModuleType):
                continue
            yield f"{home}.{name}", found
            if inspect.isclass(found):
                for attribute in vars(found):
                    if not attribute.startswith("_"):
                        yield f"{home}.{name}.{attribute}", getattr(found, attribute)


def docstrings() -> Iterator[tuple[str, str]]:
    for name, found in public_objects():
        text = inspect.getdoc(found)
        if text is not None and not isinstance(found, (str, int, float, tuple, dict)):
            yield name, text
    for path in sorted((PACKAGE / "faces" / "cli").glob("*.py")):  # help texts of commands
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", ast.get_docstring(node) or ""


def pages() -> Iterator[tuple[str, str]]:
    """Prose; of scripts the comments, of R files the strings and the help pages made from them."""
    listed = [ROOT / "README.md", ROOT / "rwrapper/NEWS.md", ROOT / "rwrapper/README.md",
              *(ROOT / "rwrapper/vignettes").glob("*.Rmd"), *(ROOT / "rwrapper/man").glob("*.Rd"),
              *(ROOT / "vignettes/site/pages").rglob("*.md")]  # fmt: skip
    for path in sorted(listed):
        yield str(path.relative_to(ROOT)), path.read_text()
    for path in sorted((ROOT / "vignettes").rglob("*.py")):
        if "site" not in path.parts:
            lines = (s[2:] for s in path.read_text().split("\n") if s.startswith(("# ", "#\n")))
            yield str(path.relative_to(ROOT)), "\n".join(lines)
    for path in sorted((ROOT / "rwrapper/R").glob("*.R")):
        code = "\n".join(s for s in path.read_text().split("\n") if not s.lstrip().startswith("#"))
        yield str(path.relative_to(ROOT)), "\n".join(re.findall(r'"[^"\n]* [^"\n]*"', code))


@cache
def collected(texts) -> tuple[tuple[str, str], ...]:
    return tuple((place, " ".join(text.split())) for place, text in texts())


def found_in(texts: Iterable[tuple[str, str]], idiom: str) -> list[str]:
    found = []
    for place, joined in texts:
        for match in re.finditer(idiom, joined, re.IGNORECASE):
            found.append(f"{place}: {joined[max(0, match.start() - 50) : match.end() + 40]}")
    return found


@pytest.mark.parametrize("texts", [messages, docstrings, pages])
@pytest.mark.parametrize("idiom", IDIOMS)
def test_text_for_users_is_plain(texts, idiom):
    found = found_in(collected(texts), idiom)
    assert not found, f"instead of {idiom!r} write: {IDIOMS[idiom]}\n" + "\n".join(found)


def test_an_idiom_is_found():
    text = "Rows 56 times as long as usual count less, as counts tell."
    assert sum(bool(found_in([("here", text)], idiom)) for idiom in IDIOMS) == 3


def test_everything_public_is_described():
    described = ((name, found) for name, found in public_objects()
                 if callable(found) or isinstance(found, property))  # fmt: skip
    assert not [name for name, found in described if not inspect.getdoc(found)]
