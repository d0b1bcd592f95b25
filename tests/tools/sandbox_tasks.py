"""Tasks of the sandbox's tests: run inside children, by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any


def add(a: int, b: int) -> int:
    return a + b


def pid() -> int:
    return os.getpid()


def spin() -> None:
    while True:
        pass


def wait(seconds: float) -> str:
    time.sleep(seconds)
    return "waited"


def fill_memory() -> int:
    return len(bytearray(8 * 1024**3))


def large_result() -> str:
    return "x" * (16 * 1024 * 1024)


def fail() -> None:
    raise ValueError("no such thing")


def talk() -> str:
    print("noise on stdout", flush=True)
    os.write(1, b"more noise")
    return "quiet"


def path_object() -> Path:
    return Path("/")


def die_once(marker: str) -> str:
    """Killed from outside at the first try, as by the out-of-memory killer."""
    if not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "survived"


def die_always() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_handler() -> bool:
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def environment() -> list[str]:
    return sorted(os.environ)


def nested(depth: int) -> Any:
    return {"a": (1, 2.5, None, True, "é", [depth], {1, 2}, b"x")}
