"""Data and a ledger as files."""

from __future__ import annotations

import numpy as np
import pytest

import dpreg


@pytest.fixture(scope="module")
def data(tmp_path_factory, diamonds):
    path = tmp_path_factory.mktemp("cli") / "diamonds.parquet"
    shop = np.arange(len(diamonds)) // 2
    diamonds.assign(grade=diamonds["cut"].astype(str), shop=shop).to_parquet(path)
    return str(path)


@pytest.fixture
def ledger(tmp_path):
    path = str(tmp_path / "diamonds.ledger")
    dpreg.Budget(6.0, 1e-4, ledger=path)
    return path
