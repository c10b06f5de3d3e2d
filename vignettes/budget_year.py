# %% [markdown]
# # A year with one budget
#
# A hospital lets three analysts study the visits of its patients for a year. This page follows that
# year from the custodian's side: one ledger with 200 charges, a crash in the middle of a fit, a
# dispute about who spent what, and the report at the end.
#
# Run it as `python vignettes/budget_year.py`, or open it as a notebook (percent format).

# %%
from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from unittest import mock

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import dpreg
from dpreg.faces.cli.commands import main as shell
from dpreg.privacy.gdp import gdp_epsilon

folder = tempfile.TemporaryDirectory()
WARDS = ["surgery", "medicine", "maternity"]
LEDGER, VISITS = f"{folder.name}/visits.ledger", f"{folder.name}/visits.parquet"

# %% [markdown]
# ## January: a new budget
#
# The data are simulated: 20,000 patients with three visits each. The budget is `eps=3` per patient
# for the whole year, whatever the three analysts compute. With `accounting="gdp"` the squares of
# the releases' privacy parameters mu add up, so many small releases together cost far less than the
# sum of their eps.
#
# `Budget.open` reads the totals from the file, so nobody has to remember them. The file must be on
# a local disk, where analysts cannot delete it.

# %%
rng = np.random.default_rng(1)
patient = np.repeat(np.arange(20_000), 3)
age, ward = rng.uniform(18, 90, 20_000)[patient], rng.integers(0, 3, len(patient))
habit = rng.normal(0, 8, 20_000)[patient]
pd.DataFrame({
    "minutes": 20 + 0.3 * age + 5 * (ward == 1) + habit + rng.normal(0, 6, len(patient)),
    "age": age,
    "ward": np.array(WARDS)[ward],
    "patient": patient,
}).to_parquet(VISITS)  # fmt: skip

shell(["budget", "new", LEDGER, "--eps", "3", "--accounting", "gdp", "--name", "visits"])

# %% [markdown]
# ## The year goes by
#
# Ada fits regressions; Bea counts visits by ward with another program and records each count with
# `spend`; Cleo does both. A charge is recorded under the operating system's user name; here one
# process plays three people, so `user=` gives the name. Times come from the computer's clock, which
# this page sets.
#
# At the end of each month the custodian keeps the *seal*, the last hash of the ledger, where people
# who can write to the ledger cannot change it: in an e-mail, or on paper.

# %%
NEW_YEAR, DAYS = datetime(2026, 1, 1, 9, tzinfo=UTC), np.linspace(1, 362, 199)
FORMULAS = ("minutes ~ age", "minutes ~ ward", "minutes ~ age + ward")


def at(day):
    """Let the ledger be written on a day of the year."""
    time = (NEW_YEAR + timedelta(days=float(day))).isoformat(timespec="seconds")
    return mock.patch("dpreg.privacy.account.now", return_value=time)


def fit(user, formula, eps):
    budget = dpreg.Budget.open(LEDGER, user=user)
    return dpreg.dp_lm(
        formula, VISITS, eps, 1e-7, method="adassp", unit="patient", levels={"ward": WARDS},
        budget=budget,
    )  # fmt: skip


def count(user, what):
    dpreg.Budget.open(LEDGER, user=user).spend(f"{what}, with Gaussian noise", mu=0.03)


# Kept where analysts cannot write.
seals = {}


def work(days):
    for day in days:
        number = round(float(day))
        with at(day):
            if number % 5 == 0:
                user = "ada" if number % 2 else "cleo"
                fit(user, FORMULAS[number % 3], 0.3)
            else:
                count("bea" if number % 3 else "cleo", f"visits by ward, week {number // 7 + 1}")
        month = (NEW_YEAR + timedelta(days=float(day))).strftime("%B")
        seals[month] = dpreg.Budget.open(LEDGER).seal


spring, summer = DAYS[DAYS < 120], DAYS[(DAYS >= 120) & (DAYS < 200)]
work(spring)
print(dpreg.Budget.open(LEDGER))

# %% [markdown]
# ## May: a crash
#
# Ada's process is killed in the middle of a fit. Nobody knows what was released, so the charge,
# which was written before a record was read, stands: its status is `charged`, and it has no
# outcome. The ledger is intact, and nothing has to be repaired.

# %%
before = len(dpreg.Budget.open(LEDGER).charges)
CRASH = """
import os, signal, sys
import dpreg
import dpreg.privacy.account
from dpreg.estimation.methods import AdaSSP
dpreg.privacy.account.now = lambda: sys.argv[3]
AdaSSP.release = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
budget = dpreg.Budget.open(sys.argv[1], user="ada")
dpreg.dp_lm("minutes ~ age", sys.argv[2], 0.3, 1e-7, method="adassp", unit="patient", budget=budget)
"""
noon = "2026-05-01T12:00:00+00:00"
killed = subprocess.run([sys.executable, "-c", CRASH, LEDGER, VISITS, noon], check=False)
print("ended by SIGKILL:", killed.returncode == -signal.SIGKILL)
crashed = dpreg.Budget.open(LEDGER).charges[before:]
print([(charge.user, charge.formula, charge.status) for charge in crashed])
shell(["budget", "verify", LEDGER])
shutil.copy(LEDGER, f"{folder.name}/backup.ledger")
work(summer)

# %% [markdown]
# ## July: a dispute
#
# Cleo finds less budget left than she remembers and says that someone charged fits to her name. The
# ledger has the user, time and label of each charge, and for each fit its certificate: what was
# released, and with how much noise.

# %%
budget = dpreg.Budget.open(LEDGER)
frame = budget.to_frame()
hers = frame[(frame["user"] == "cleo") & (frame["method"] == "adassp")]
print(hers[["time", "formula", "eps", "status"]].tail(4).to_string(index=False))
charge = next(c for c in reversed(budget.charges) if c.user == "cleo" and c.certificate)
steps = len(charge.certificate["parts"])
print(
    f"\n{charge.label} at {charge.time}: {charge.certificate['mechanism']} in {steps} noisy steps"
)

# %% [markdown]
# Has the file been changed since? Each entry contains a hash of itself and of the previous entry.
# The seals of all months must occur in that chain, and they do:

# %%
print([month for month, seal in seals.items() if budget.verify(seal)])

# %% [markdown]
# Someone proposes to replace the ledger with the backup from May, which would undo all charges
# since then. The backup is intact, so its own chain is valid, but the seal of June is missing from
# it, and a process that has seen later charges refuses it. A changed entry is detected even without
# a seal. In each case `dpreg budget verify` exits with code 1, so that scripts notice.

# %%
current = f"{folder.name}/current.ledger"
shutil.copy(LEDGER, current)


def verified_by_another_process(path, *options):
    command = [sys.executable, "-m", "dpreg", "budget", "verify", path, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.returncode, (done.stdout + done.stderr).replace(folder.name, "...").strip(), "\n")
    return done.returncode


backup = f"{folder.name}/backup.ledger"
old = [
    verified_by_another_process(backup),
    verified_by_another_process(backup, "--seal", seals["June"]),
]
shutil.copy(backup, LEDGER)
try:
    fit("cleo", "minutes ~ age", 0.3)
except dpreg.BudgetError as error:
    print(str(error).replace(folder.name, "..."), "\n")
else:
    raise AssertionError("a fit was charged to the backup")
shutil.copy(current, LEDGER)

forged = f"{folder.name}/forged.ledger"
shutil.copy(LEDGER, forged)
connection = sqlite3.connect(forged)
with connection:
    connection.execute("UPDATE entries SET content = replace(content, 'cleo', 'bea')")
connection.close()
assert [*old, verified_by_another_process(forged)] == [0, 1, 1]

# %% [markdown]
# ## December: the report
#
# The report shows what is left at the end of the year and who spent the rest. For the archive,
# `dpreg budget show visits.ledger --html report.html` writes a page with all charges.

# %%
work(DAYS[DAYS >= 200])
shell(["budget", "show", LEDGER, "--html", f"{folder.name}/report.html"])
budget = dpreg.Budget.open(LEDGER)
assert len(budget.charges) == 200
print(f"\n{os.path.getsize(f'{folder.name}/report.html') / 1000:.0f} kB of report")

# %% [markdown]
# What is left does not cover a fit with `eps=2.5`, which is refused before a record is read:

# %%
try:
    fit("ada", "minutes ~ age", 2.5)
except dpreg.BudgetError as error:
    print(error)
else:
    raise AssertionError("more was charged than there was")

# %% [markdown]
# The plot shows the gain from this accounting: without it, the eps of all charges would have to be
# added. The dashed line is the total promised to every patient.

# %%
frame = budget.to_frame()
time = pd.to_datetime(frame["time"])
total = np.sqrt(np.cumsum(frame["mu"] ** 2))
together = [gdp_epsilon(float(mu), budget.delta) for mu in total]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.step(time, frame["eps"].cumsum(), color="0.6", where="post", label="sum of their eps")
ax.step(time, together, color="#0072B2", where="post", label="by GDP")
ax.axhline(budget.eps, color="black", linewidth=0.8, linestyle="--")
ax.set_yscale("log")
ax.set_ylabel("eps of all releases so far")
ax.set_title("200 charges to one budget", loc="left")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
print(f"sum of eps {frame['eps'].sum():.1f}, together {budget.spent[0]:.2f} of {budget.eps:g}")
assert budget.spent[0] <= budget.eps < frame["eps"].sum()
folder.cleanup()
