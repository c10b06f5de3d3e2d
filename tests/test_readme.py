"""The README says what is true: its Python runs, its commands exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import dpreg
from dpreg.cli.commands import dpreg as shell

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_examples_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "differentially private" in printed
    assert "(1.5, 9e-06)" in printed


def test_the_summary_is_the_one_shown():
    fit = dpreg.dp_lm(
        "price ~ carat + depth + table", dpreg.load_diamonds(), eps=1.0, delta=1e-6, rng=1
    )
    assert [str(fit.summary()).split()] == [text.split() for text in blocks("console")]


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_targets_exist(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_commands_parse():
    commands = [line for block in blocks("sh") for line in block.splitlines()
                if line.startswith("dpreg ")]  # fmt: skip
    assert commands
    for command in commands:
        _, *words = shlex.split(command)
        found = shell
        while words[0] in getattr(found, "commands", {}):
            found = found.commands[words.pop(0)]
        # Parsed, and not run.
        found.make_context("dpreg", words)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / target).exists(), target
