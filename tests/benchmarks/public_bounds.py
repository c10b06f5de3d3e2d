"""Bounds of columns from what is known of their subject, for tools that need bounds.

Columns of 0 and 1 (names with ``=``, and those listed) need no source.  Where a documentation
prints the ranges of its own data, those are taken: tighter than anyone can know of private data,
in favour of the tools.  Guesses were made by someone who had seen the ranges of the data, so
they are better than guesses: in their favour too.  Where nothing is known of the columns, bounds
are powers of ten that hold the data: not private, again in their favour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

UNKNOWN = "nothing is known: powers of ten read off the data, not private"
PERCENT, SHARE = (0, 100), (0, 1)


@dataclass(frozen=True)
class Known:
    source: str
    best_column: str  # for tools with one regressor
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)


KNOWN = {
    "diamonds": Known(
        "documentation of ggplot2, which prints ranges",
        "carat",
        {"carat": (0.2, 5.01), "cut": (0, 4), "color": (0, 6), "clarity": (0, 7),
         "depth": (43, 79), "table": (43, 95), "x": (0, 10.74), "y": (0, 58.9), "z": (0, 31.8),
         "target": (326, 18823)},
    ),
    "elevators": Known(UNKNOWN, "absRoll"),
    "brazilian_houses": Known(
        "guess: flats of 10 to 3,000 square metres, at most 10 rooms and 50 floors, rents up to "
        "60,000 reais, log1p of them",
        "valor_aluguel",
        {"area": (2, 8), "quartos": (0, 10), "banheiros": (0, 10), "vagas_garagem": (0, 10),
         "andar": (0, 50), "valor_condominio": (0, 11), "valor_aluguel": (5, 11),
         "iptu": (0, 11), "seguro_incendio": (0, 7), "target": (5, 12)},
    ),
    "bike_sharing": Known(
        "UCI page, which prints ranges of the weather; count guessed at most 1,000 an hour",
        "temp",
        {"temp": (-8, 39), "atemp": (-16, 50), "hum": PERCENT, "windspeed": (0, 67),
         "yr": (2011, 2012), "target": (0, 1000)},
    ),
    "visualizing_soil": Known(
        "the book's maps: 4 by 1.6 units, 40 tracks; resistivity guessed",
        "northing",
        {"northing": (0, 4), "easting": (0, 1.6), "resistivity": (0, 200), "isns": SHARE,
         "target": (1, 40)},
    ),
    "analcatdata_supreme": Known(
        "flags, terms of 1953 to 1988; number of actions and exposure guessed",
        "Actions_taken",
        {"Actions_taken": (0, 10), "Liberal": SHARE, "Unconstitutional": SHARE,
         "Precedent_alteration": SHARE, "Unanimous": SHARE, "Year_of_decision": (1953, 1988),
         "Lower_court_disagreement": SHARE, "target": (0, 3)},
    ),
    "house_8L": Known(
        "shares; the census codes prices above 500,000 as 500,001; places of at most 3 million, "
        "and 10 rooms, guessed",
        "H15p1",
        {"P3": (0, 3e6), **dict.fromkeys(("P6p4", "P11p3", "P16p2", "P19p2", "H5p2", "H40p4"),
                                         SHARE),
         "H15p1": (0, 10), "target": (0, 500_001)},
    ),
    "space_ga": Known(
        "logarithms of counts in counties of at most 10 million, of incomes in all up to 10^9; "
        "the map of the United States in millionths of a degree",
        "EDUCATION",
        {"POP": (4, 16.1), "EDUCATION": (3, 16.1), "HOUSES": (3, 16.1), "INCOME": (7, 20.7),
         "XCOORD": (-125e6, -66e6), "YCOORD": (24e6, 50e6), "target": (-3, 0)},
    ),
    "abalone": Known(
        "UCI page, which prints ranges",
        "Shell",
        {"Length": (0.075, 0.815), "Diameter": (0.055, 0.65), "Height": (0, 1.13),
         "Whole": (0.002, 2.826), "Shucked": (0.001, 1.488), "Viscera": (0.001, 0.76),
         "Shell": (0.002, 1.005), "target": (1, 29)},
    ),
    "nycflights13": Known(
        "calendar and clock; delays of 1 hour early to a day late, flights of 12 hours and 5,000 "
        "miles at most, guessed",
        "dep_delay",
        {"month": (1, 12), "day": (1, 31), "dep_delay": (-60, 1440), "air_time": (0, 720),
         "distance": (0, 5000), "hour": (0, 24), "minute": (0, 60), "month_sin": (-1, 1),
         "month_cos": (-1, 1), "target": (-60, 1440)},
    ),
    "cpssw8": Known(
        "documentation of AER (age 21 to 64, 6 to 20 years of education); earnings guessed 2 to "
        "100 dollars an hour",
        "education",
        {"age": (21, 64), "education": (6, 20), "age2": (441, 4096), "target": (0.69, 4.61)},
    ),
    "protein": Known(UNKNOWN, "x1"),
    "keggdirected": Known(UNKNOWN, "x6"),
    "randhie": Known(
        "scales and plans of the experiment; ages up to 65; counts, incomes and logarithms guessed",
        "mdvis",
        {"plan": (1, 24), "site": (1, 6), "coins": PERCENT, "year": (1, 5), "income": (0, 50_000),
         "xage": (0, 65), "educdec": (0, 25), "time": SHARE, "totadm": (0, 10),
         "mentvis": (0, 100), "mdvis": (0, 100), "notmdvis": (0, 100), "num": (1, 15),
         "mhi": PERCENT, "disea": (0, 60), "ghindx": PERCENT, "mdeoff": (0, 1000),
         "pioff": (0, 1300), "lfam": (0, 2.71), "lpi": (0, 7.2), "logc": (0, 4.62),
         "fmde": (0, 8.3), "xghindx": PERCENT, "linc": (0, 10.9), "lnum": (0, 2.71),
         "target": (0, 10),
         **dict.fromkeys(("tookphys", "black", "female", "inpmis", "physlm", "child", "fchild",
                          "idp", "hlthg", "hlthf", "hlthp"), SHARE)},
    ),
    "api_schools": Known(
        "percentages; the index is on a scale of 200 to 1000; schools of at most 5,000 pupils",
        "api99",
        {**dict.fromkeys(("pcttest", "meals", "ell", "mobility", "pct.resp", "not.hsg", "hsg",
                          "some.col", "col.grad", "grad.sch", "full", "emer"), PERCENT),
         "api99": (200, 1000), "avg.ed": (1, 5), "enroll": (0, 5000), "api.stu": (0, 5000),
         "target": (200, 1000)},
    ),
}  # fmt: skip


def bounds_of(name, data):
    """Return the limits of each column of `data`, the target last, shape (d + 1, 2)."""
    known = KNOWN[name]
    columns = [*(c for c in data.columns if c != "target"), "target"]
    if known.source == UNKNOWN:
        limit = 10.0 ** np.ceil(np.log10(data[columns].abs().max().to_numpy()))
        return np.column_stack([-limit, limit])
    return np.array([SHARE if "=" in c else known.bounds[c] for c in columns], dtype=float)
