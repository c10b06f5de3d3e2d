"""Processes that charge a ledger and are killed with signal 9 at any moment.

In each round two processes charge the same file as fast as they can and tell a pipe of each
charge *after* it was made; both are killed after a few milliseconds.  Then every charge that
was told of must be in the file, and the file must not hold more than its total.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import dpreg
from dpreg.base.errors import BudgetError

AMOUNT, CHARGES = 0.01, 300
TOTAL = 3.0


@dataclass
class Tally:
    rounds: int = 0
    told: int = 0
    found: int = 0
    torn: int = 0
    lost: list[str] = field(default_factory=list)
    overspent: int = 0

    def __str__(self):
        return (
            f"{self.rounds} rounds, {self.told} charges made and {self.found} found, "
            f"{self.torn} transactions cut short by a kill, {len(self.lost)} charges lost, "
            f"{self.overspent} ledgers overspent"
        )


def charge_until_killed(path, pipe, name):
    """Run in a child process; never returns."""
    budget = dpreg.Budget(TOTAL, 0.0, ledger=path)
    number = 0
    while True:
        label = f"{name}-{number:05d}"
        try:
            budget.spend(label, AMOUNT)
        except BudgetError:
            time.sleep(0.001)
            continue
        os.write(pipe, f"{label}\n".encode())
        number += 1


def kill_in_one_round(path, tag, *, patience):
    """Return the labels that two processes told of before they were killed."""
    read, write = os.pipe()
    children = []
    for process in range(2):
        child = os.fork()
        if child == 0:
            try:
                os.close(read)
                charge_until_killed(path, write, f"{tag}.{process}")
            finally:
                os._exit(1)
        children.append(child)
    os.close(write)
    time.sleep(patience)
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    return told[: told.rfind(b"\n") + 1].decode().split()


def time_of_a_charge(folder):
    """Return the seconds that a charge takes on this disk, whatever else it is busy with."""
    budget = dpreg.Budget(TOTAL, 0.0, ledger=Path(folder) / "timed")
    begin = time.perf_counter()
    for _ in range(10):
        budget.spend("timed", AMOUNT)
    return (time.perf_counter() - begin) / 10


def run(rounds, folder, seed=20260101):
    """Kill `rounds` times; a new ledger when one is spent."""
    longest = max(0.03, 12 * time_of_a_charge(folder))
    chance, tally, told, number = random.Random(seed), Tally(), [], 0
    path = Path(folder) / "ledger-0"
    for one in range(rounds):
        patience = chance.uniform(0.0, longest)
        told += kill_in_one_round(path, str(one), patience=patience)
        tally.torn += path.with_name(f"{path.name}-journal").exists()
        budget = dpreg.Budget(TOTAL, 0.0, ledger=path)
        charges = Counter(charge.label for charge in budget.charges)
        tally.rounds += 1
        tally.overspent += sum(charges.values()) > CHARGES or max(charges.values(), default=1) > 1
        if sum(charges.values()) == CHARGES or one == rounds - 1:
            tally.told += len(told)
            tally.found += sum(charges.values())
            tally.lost += [label for label in told if label not in charges]
            number += 1
            path, told = Path(folder) / f"ledger-{number}", []
    return tally


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1000)
    with tempfile.TemporaryDirectory() as scratch:
        result = run(parser.parse_args().rounds, scratch)
    print(result)
    raise SystemExit(bool(result.lost or result.overspent))
