"""The embedded endpoint as a child process: it ends with us, however we end."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from benchfill.graph.world_process import start_world


async def test_an_endpoint_whose_end_nobody_can_wait_for_is_ended(tmp_path: Path):
    config = tmp_path / "world.json"
    config.write_text('{"world": "simulated", "settings": {}}', encoding="utf-8")
    world = await start_world(config, tmp_path / "requests.log")
    os.kill(world.process.pid, signal.SIGSTOP)  # too busy to end
    stopping = asyncio.create_task(world.stop())
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert world.process.returncode == -signal.SIGKILL
