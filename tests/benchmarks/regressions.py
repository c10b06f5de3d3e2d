"""What got worse than the committed figures, `figures.json`."""

from __future__ import annotations

TOLERANCE = 0.2
RULE = (
    "A figure has regressed if its best value in this run is more than 20% worse than its worst "
    "committed value. Compared are ratios to something public in the same run, and of times only "
    "those taken three times or more, as other jobs of a machine change each of them."
)


def regressed(now, then):
    """Judge a figure with its range by that committed; `better` says which way is worse."""
    if then["better"] == "less":
        return now["least"] > then["most"] + TOLERANCE * abs(then["most"])
    return now["most"] < then["least"] - TOLERANCE * abs(then["least"])


def shown(figure):
    return f"{figure['median']:.3g} ({figure['least']:.3g} to {figure['most']:.3g})"


def compare(found, committed):
    """Return lines of what regressed, and how many figures were compared."""
    both = [key for key, then in committed.items() if then["better"] and key in found]
    lines = [
        f"- {committed[key]['text'].strip()}: {shown(found[key])}, committed "
        f"{shown(committed[key])}; {committed[key]['better']} is better."
        for key in both
        if regressed(found[key], committed[key])
    ]
    return lines, len(both)
