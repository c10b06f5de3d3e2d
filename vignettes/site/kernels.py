"""Kernels for the pages: forks of one process that has imported what nearly every page needs.

Each page has a process of its own still, in which nothing but these imports has happened.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner

# Imports are most of what a short page takes.  pyplot is not among them: a kernel that imports it
# is told where to draw.
IMPORTED = [
    "ipykernel.ipkernel", "ipykernel.kernelapp", "matplotlib.axes", "matplotlib.figure", "pandas",
    "statsmodels.iolib.summary", "dpreg.calls.fit", "dpreg.calls.lm", "dpreg.calls.select",
]  # fmt: skip
PROCESSES = multiprocessing.get_context("forkserver")


def start_server() -> None:
    """Have the process that is forked import all this, with the environment of this moment."""
    PROCESSES.set_forkserver_preload(IMPORTED)


def serve(arguments: list[str], folder: str) -> None:
    """Be a kernel."""
    from ipykernel.kernelapp import IPKernelApp

    os.chdir(folder)
    # It ends with the process that it is a fork of.
    IPKernelApp.launch_instance(argv=arguments, parent_handle=os.getppid())


class Fork:
    """What a provisioner asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, arguments: list[str], folder: str) -> None:
        # Not a daemon: a page may start processes.
        self._process = PROCESSES.Process(target=serve, args=(arguments, folder))
        self._process.start()

    @property
    def pid(self) -> int:
        found = self._process.pid
        assert found is not None
        return found

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self) -> int | None:
        self._process.join()
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Provisioner(LocalProvisioner):
    """Starts a kernel as a fork."""

    async def launch_kernel(self, cmd: list[str], **options: Any) -> Any:
        """Start it with the arguments of the command, which are after `-m ipykernel_launcher`."""
        process: Any = Fork(cmd[cmd.index("-f") :], options["cwd"])
        self.process, self.pid = process, process.pid
        return self.connection_info


def manager(folder: str) -> AsyncKernelManager:
    """Return what starts a kernel that listens in a folder."""
    found = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
    found.provisioner = Provisioner(parent=found, kernel_spec=found.kernel_spec)
    return found
