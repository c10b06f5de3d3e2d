"""Messages as R users would type them.

The words are made for Python, where they are raised; this face puts them into the syntax of R.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What is shown to people; the other strings of an answer are names and formulas.
_SHOWN = {"text", "claim", "notes", "reason", "advice", "no_errors", "label", "reading",
          "stratum"}  # fmt: skip
_CONSTANTS = {"True": "TRUE", "False": "FALSE", "None": "NULL"}
_PHRASES = {"options object": "options", "an options": "options", "a Screen or ": "",
            "a tuple or list": "a character vector",
            ", got a tuple": ", got a vector",
            "fit.clipping": "fit$clipping", "fit.notes": "fit$notes"}  # fmt: skip


# The name of an argument before its value, where it is not the name of a column or a level.
_ARGUMENT = re.compile(r"(?<![\w.'\"`])([A-Za-z_]\w*)=(?!=)")
# One without a value, as in "levels= declares them".
_BARE = re.compile(_ARGUMENT.pattern + r"(?=[\s,;:)]|\.(?!\.)|$)")
# A list of texts.
_LIST = re.compile(r"\[('[^'\]]*'(?:, (?:'[^']*'|\.\.\.))*)\]")


def in_r(text: str) -> str:
    """Return a message with its advice in the syntax of R.

    text: as Python says it, such as ``"write delta=1e-6 and inference=False"``.
    Returns: ``"write delta = 1e-6 and inference = FALSE"``.
    """
    text = re.sub(r"(dp_\w+)\((['\"])(.*?)\2, method='(\w+)'\)", r'\1(\3, method = "\4")', text)
    text = re.sub(r"{'?([\w.]+)'?: \(low, high\)(, \.\.\.)?}", r"list(\1 = c(low, high)\2)", text)
    text = re.sub(r"{'([^']*)': \(low, high\)(, \.\.\.)?}", r"list(`\1` = c(low, high)\2)", text)
    # How Python reads a CSV file is of no use there.
    text = re.sub(r"declare them, types = .*, or in R with (read\.csv\(.*\))", r"write \1", text)
    text = _LIST.sub(lambda found: f"c({found[1]})".replace("'", '"'), text)
    text = re.sub(r"{'(\w+)': (c\([^)]*\))}", r"list(\1 = \2)", text)
    text = re.sub(r"\binterval\[T\.([^]]*)\]", r"interval\1", text)
    text = re.sub(r"(?<![\w(])Intercept\b", "(Intercept)", text)
    for python, r in _PHRASES.items():
        text = text.replace(python, r)
    text = re.sub(r"\bdpreg\.Budget\(", "dp_budget(", text)
    text = re.sub(r"\bdpreg\.(?=[A-Z])", "", text)
    text = _ARGUMENT.sub(r"\1 = ", _BARE.sub(r"\1", text))
    text = re.sub(r"(?<= = )'([^']*)'", r'"\1"', text)
    text = re.sub(r"(?<![\w.'])(\d+)\.0(?![\w.'])", r"\1", text)
    text = re.sub(r"(?<=\d)\*\*(?=\d)", "^", text)
    return re.sub(r"(?<!')\b(True|False|None)\b(?!')", lambda found: _CONSTANTS[found[1]], text)


@dataclass(frozen=True, slots=True)
class Described:
    """What R was given for an argument that has to be one value; it is refused as this."""

    text: str

    def __repr__(self) -> str:
        return self.text


def as_given(value: Any) -> Any:
    """Return an argument that R sent; see `one_sent()` in rwrapper/R/answers.R."""
    described = isinstance(value, Mapping) and value.keys() == {"described"}
    return Described(value["described"]) if described else value


def told_in_r(value: Any) -> Any:
    """Return an answer with what is shown to people in the syntax of R."""
    if not isinstance(value, Mapping):
        return value
    return {k: _shown(v) if k in _SHOWN else told_in_r(v) for k, v in value.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return in_r(value)
    return [_shown(v) for v in value] if isinstance(value, list) else value
