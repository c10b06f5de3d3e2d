"""Other processes get the environment from before R: rpy2 puts R's libraries first in it."""

from __future__ import annotations

import os
import subprocess

import pytest

_ENVIRONMENT = dict(os.environ)


@pytest.fixture(scope="session")
def shown():
    """Run a command; return the words that it prints."""

    def run(*command, **environment):
        done = subprocess.run(
            command, env=_ENVIRONMENT | environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    return run
