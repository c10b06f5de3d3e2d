"""What got worse than the committed figures, `figures.json`."""

from __future__ import annotations

TOLERANCE = 0.2
# Committed runs whose ranges are kept: machines that are shared differ from hour to hour.
KEPT = 3
RULE = (
    "A figure has regressed if its best value in this run, and in a second run of its benchmark, "
    "is more than 20% worse than its worst value in the last three committed runs. Compared are "
    "ratios to something public in the same run, and of times only those taken three times or "
    "more, as other jobs of a machine change each of them."
)


def regressed(now, then):
    """Judge a figure with its range by those committed; `better` says which way is worse."""
    least, most = outermost(then)
    if then["better"] == "less":
        return now["least"] > most + TOLERANCE * abs(most)
    return now["most"] < least - TOLERANCE * abs(least)


def outermost(figure):
    """Return least and most of the runs that were committed."""
    lows, highs = zip(*figure.get("runs", [[figure["least"], figure["most"]]]), strict=True)
    return min(lows), max(highs)


def with_runs(found, committed):
    """Return figures with their range in this run and in those committed before it."""
    return {
        key: figure
        | {"runs": [[figure["least"], figure["most"]], *_runs(committed.get(key))][:KEPT]}
        for key, figure in found.items()
    }


def _runs(figure):
    if figure is None:
        return []
    return figure.get("runs", [[figure["least"], figure["most"]]])


def shown(figure):
    return f"{figure['median']:.3g} ({figure['least']:.3g} to {figure['most']:.3g})"


def compare(found, committed):
    """Return lines of what regressed, by key, and how many figures were compared."""
    both = [key for key, then in committed.items() if then["better"] and key in found]
    worse = [key for key in both if regressed(found[key], committed[key])]
    return {key: _line(found[key], committed[key]) for key in worse}, len(both)


def _line(now, then):
    least, most = outermost(then)
    return (
        f"- {then['text'].strip()}: {shown(now)}, committed {least:.3g} to {most:.3g}; "
        f"{then['better']} is better."
    )
