"""What runs inside a child of the sandbox: take a task from stdin, compute under limits, answer on stdout.

A frame is eight bytes of length (big endian) and a pickle. Requests are ``(function, args, seconds)`` with
the function as ``"module:name"``; answers are ``(kind, value)`` with kind ``ready`` (the clock starts now),
``done``, ``failed``, ``memory`` or ``output``.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import signal
import struct
import sys
import threading
from typing import Any, BinaryIO

__all__ = ["LENGTH", "main"]

LENGTH = struct.Struct(">Q")


def main(memory_mb: int, output_bytes: int) -> None:
    """Serve tasks until stdin ends.

    Parameters
    ----------
    memory_mb
        Limit of the address space (RLIMIT_AS), where the platform has it.
    output_bytes
        Largest pickled result that is sent back.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_memory(memory_mb)
    requests, answers = _take_over_pipes()
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, waiting), daemon=True).start()
    while True:
        kind, value = _work(waiting.get(), answers)
        _start_cpu_clock(0.0)
        try:
            payload = pickle.dumps((kind, value))
        except Exception as error:
            payload = pickle.dumps(("failed", f"the result cannot be sent: {type(error).__name__}"))
        if len(payload) > output_bytes:
            payload = pickle.dumps(("output", len(payload)))
        _send(answers, payload)


def _listen(requests: BinaryIO, waiting: queue.SimpleQueue[bytes]) -> None:
    """Read requests beside the computation, so that the end of the parent ends a busy child too."""
    try:
        while len(head := requests.read(LENGTH.size)) == LENGTH.size:
            waiting.put(requests.read(LENGTH.unpack(head)[0]))
    finally:
        os._exit(0)


def _work(request: bytes, answers: BinaryIO) -> tuple[str, Any]:
    try:
        target, args, seconds = pickle.loads(request)  # noqa: S301 - from the parent, never from a model
        module_name, name = target.split(":")
        module = importlib.import_module(module_name)
        for heavy in getattr(module, "SANDBOX_IMPORTS", ()):
            importlib.import_module(heavy)
        function = getattr(module, name)
        _send(answers, pickle.dumps(("ready", None)))
        _start_cpu_clock(seconds)
        return "done", function(*args)
    except MemoryError:
        return "memory", None
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"[:500]


def _start_cpu_clock(seconds: float) -> None:
    """End this process by SIGPROF after ``seconds`` of its own CPU time (0 stops the clock).

    The timer counts what RLIMIT_CPU counts, but in fractions of a second and anew for every task: a machine
    busy with other work does not change what a task may compute.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory(memory_mb: int) -> None:
    try:
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        wanted = memory_mb * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    except (ImportError, OSError, ValueError):
        pass  # Windows has no such limit and macOS may refuse it; time and output limits still hold.


def _take_over_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Keep the pipes for frames only: a print of a library must not end up between them."""
    requests = os.fdopen(os.dup(0), "rb", buffering=-1)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    sys.stdin = sys.stdout = None
    return requests, answers


def _send(answers: BinaryIO, payload: bytes) -> None:
    frame = memoryview(LENGTH.pack(len(payload)) + payload)
    while frame:
        frame = frame[answers.write(frame) :]
