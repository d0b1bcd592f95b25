"""A headless Chromium, spoken to through its debugging pipe: no driver and no package is needed, only the browser."""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HOW_TO_GET_IT = "no Chromium here (Debian: apt-get install chromium fonts-wqy-zenhei)"
LAUNCHER = (
    "import os, sys; _, a, b, *do = sys.argv; os.dup2(int(a), 3); os.dup2(int(b), 4); os.execv(do[0], do)"
)
KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}


def find_chromium() -> str | None:
    return next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)


class Chromium:
    """One browser; ends with the block."""

    def __init__(self, binary: str, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # Out of the way of 3 and 4, from which the browser reads and to which it writes.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        self._errors = (profile / "stderr").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, ends), binary, "--headless=new", "--no-sandbox",
             "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update",
             "--window-size=900,900", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=self._errors, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (to_read, to_write, *ends):
            os.close(end)
        self._numbers = itertools.count(1)
        self._rest = b""

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(20)
        os.close(self._to)
        os.close(self._from)
        self._errors.close()

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                read = os.read(self._from, 1 << 16)
                if not read:
                    raise AssertionError("the browser has ended")
                self._rest += read
            one, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(one)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def open(self, address: str) -> Page:
        target = self.send("Target.createTarget", url=address)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Emulation.setFocusEmulationEnabled", session, enabled=True)
        page = Page(self, session)
        page.wait("document.body && document.body.dataset.ready === 'yes'")
        return page


class Page:
    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def value(self, script: str) -> Any:
        told = self._browser.send("Runtime.evaluate", self._session, expression=script, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def wait(self, script: str, seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not self.value(script):
            assert time.monotonic() < end, (
                f"never true: {script}; the page says {self.value('document.body.innerText')!r}"
            )
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        for key in keys:
            known = {"text": "\r"} if key == "Enter" else {} if key in KEYS else {"text": key}
            code = KEYS.get(key, ord(key.upper()[0]))
            for kind in ("keyDown", "keyUp"):
                self._browser.send(
                    "Input.dispatchKeyEvent", self._session, type=kind, key=key, windowsVirtualKeyCode=code,
                    **(known if kind == "keyDown" else {}),
                )  # fmt: skip

    def reload(self) -> None:
        self.value("document.body.dataset.ready = 'no'")
        self._browser.send("Page.reload", self._session)
        self.wait("document.body && document.body.dataset.ready === 'yes'")

    def screenshot(self, path: Path) -> None:
        told = self._browser.send("Page.captureScreenshot", self._session, format="png")
        path.write_bytes(base64.b64decode(told["data"]))
