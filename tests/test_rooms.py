"""Rooms of the package: each imports only from floors below its own."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python/dpreg"

# From the ground up.  Rooms of one floor may use one another only where that is said.
FLOORS = [
    {"version", "base"},
    {"privacy"},
    {"data"},
    {"estimation.inference", "estimation.releases", "estimation.planning"},
    {"estimation.base", "estimation.standardised"},
    {"estimation.newton", "estimation.blocks"},
    {"estimation.methods"},
    {"estimation.selection"},
    {"results"},
    {"calls"},
    {"faces.plots", "faces.bridge", "mechanisms", "sklearn"},
    {"reference", "r"},
    {"audit"},
    {"faces.cli"},
]
TOGETHER = ("estimation.",)
# Besides them: the package itself, and what is generated.
ASIDE = {"__init__", "__main__", "_core", "py"}


def room_of(module):
    """Return the room that a module, or a path without suffix, is in."""
    parts = module.split(".")
    for size in (2, 1):
        room = ".".join(parts[:size])
        if any(room in floor for floor in FLOORS):
            return room
    return None


def floor_of(room):
    return next(i for i, floor in enumerate(FLOORS) if room in floor)


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield name.removesuffix(".__init__"), path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("dpreg."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpreg."):
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "dpreg":
            there = (a.name for a in node.names if (PACKAGE / a.name).is_dir())
            yield from (f"dpreg.{name}" for name in there if name != "_core")


def test_twelve_names_at_the_top():
    there = {p.name.partition(".")[0] for p in PACKAGE.iterdir() if p.name != "__pycache__"}
    rooms = {room.partition(".")[0] for floor in FLOORS for room in floor}
    assert there - ASIDE == rooms
    assert len(rooms - {"version"}) <= 12


def test_every_module_has_a_room():
    bare = {name for name, _ in modules() if room_of(name) is None}
    assert bare == {"__init__", "__main__", "estimation", "faces"}


def test_imports_go_down():
    up = []
    for name, path in modules():
        room = room_of(name)
        if room is None:
            continue
        for target in imported(path):
            other = room_of(target.removeprefix("dpreg."))
            if other in (None, room):
                continue
            mine, its = floor_of(room), floor_of(other)
            beside = mine == its and room.startswith(TOGETHER) and other.startswith(TOGETHER)
            if its >= mine and not beside:
                up.append(f"{name} -> {target}")
    assert not up
