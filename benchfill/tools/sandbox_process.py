"""The parent's side of one child process of the sandbox: start, send a task, wait for its answer, end it."""

from __future__ import annotations

import io
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from typing import IO, Any, Literal

from benchfill.tools.sandbox_child import LENGTH

__all__ = ["Child", "Failed", "Reason"]

Reason = Literal["timeout", "memory", "output", "crashed"]

OUTPUT_BYTES = 4 * 1024 * 1024
START_SECONDS = 120.0  # importing sympy takes seconds on a busy machine; not counted as the task's own time
WALL_FACTOR = 3.0  # the limit is CPU time; a task that only waits is ended by the wall clock, this much later
_CPU_SIGNALS = {"SIGPROF", "SIGXCPU", "SIGVTALRM"}
# All that a child is told of the environment: what it computes on is untrusted, and keys of endpoints are there too.
_KEPT = {
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "LD_LIBRARY_PATH",
}


class Failed(Exception):
    """No result. ``fatal``: the child is of no more use; ``retry``: it was not the task's own limit."""

    def __init__(self, message: str, reason: Reason, *, fatal: bool, retry: bool = False) -> None:
        self.reason: Reason = reason
        self.fatal = fatal
        self.retry = retry
        super().__init__(message)


class Child:
    """One child process and the thread that reads its answers."""

    def __init__(self, memory_mb: int) -> None:
        start = (
            "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
            "from benchfill.tools.sandbox_child import main; main(int(sys.argv[2]), int(sys.argv[3]))"
        )
        path = json.dumps([entry for entry in sys.path if isinstance(entry, str)])
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell
            [sys.executable, "-c", start, path, str(memory_mb), str(OUTPUT_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
            bufsize=0,
            start_new_session=True,  # the Ctrl-C of a terminal goes to its foreground group only
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise Failed("a child process has no pipes", "crashed", fatal=False)
        self._requests = self._process.stdin
        self._answers: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        pipes = (self._process.stdout, self._answers)
        threading.Thread(target=_read_answers, args=pipes, daemon=True).start()

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process and collect it; safe to call twice and from any thread."""
        self._process.kill()
        self._process.wait()
        self._requests.close()

    def run(self, request: bytes, seconds: float) -> Any:
        try:
            _write_frame(self._requests, request)
        except (OSError, ValueError):
            raise self._died() from None
        kind, value = self._answer(START_SECONDS)
        if kind == "ready":
            kind, value = self._answer(seconds * WALL_FACTOR)
        if kind == "done":
            return value
        if kind == "memory":
            raise Failed("the task hit its memory limit", "memory", fatal=True)
        if kind == "output":
            raise Failed(f"the result is too large ({value} bytes)", "output", fatal=False)
        raise Failed(str(value), "crashed", fatal=False)

    def _answer(self, seconds: float) -> tuple[str, Any]:
        try:
            payload = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise Failed("the task hit its time limit", "timeout", fatal=True) from None
        if payload is None:
            raise self._died()
        try:
            kind, value = _PlainUnpickler(io.BytesIO(payload)).load()
        except pickle.UnpicklingError as error:
            raise Failed(f"the result is not plain: {error}", "crashed", fatal=False) from None
        return kind, value

    def _died(self) -> Failed:
        code = self._process.wait()
        if _signal_name(code) in _CPU_SIGNALS:
            return Failed("the task hit its time limit", "timeout", fatal=True)
        return Failed("the process of the task died", "crashed", fatal=True, retry=True)


def _environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.upper() in _KEPT or name.startswith("PYTHON") or name.endswith("_NUM_THREADS")
    }


class _PlainUnpickler(pickle.Unpickler):
    """Reads numbers, text and containers; a child that met hostile text can send nothing that runs here."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name}")


def _read_answers(pipe: IO[bytes], answers: queue.SimpleQueue[bytes | None]) -> None:
    try:
        with pipe:
            while head := _read_exactly(pipe, LENGTH.size):
                (length,) = LENGTH.unpack(head)
                payload = _read_exactly(pipe, length) if length <= OUTPUT_BYTES else None
                if payload is None:
                    break
                answers.put(payload)
    except OSError:
        pass
    answers.put(None)


def _read_exactly(pipe: IO[bytes], count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = pipe.read(count - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)


def _write_frame(pipe: IO[bytes], payload: bytes) -> None:
    frame = memoryview(LENGTH.pack(len(payload)) + payload)
    while frame:
        frame = frame[pipe.write(frame) :]


def _signal_name(code: int) -> str:
    try:
        return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
        return ""
