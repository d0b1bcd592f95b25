"""Files are written whole or not at all, through links, and never in the place of a device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchfill.atomic import write_whole
from benchfill.errors import InputError


def test_a_link_is_written_through(tmp_path: Path):
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_not_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        write_whole(pipe, b"x")
    assert pipe.is_fifo()


def test_nothing_is_left_behind_by_a_failure(tmp_path: Path):
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(tmp_path / "no" / "folder", b"x")
    assert list(tmp_path.iterdir()) == []
