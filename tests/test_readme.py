"""The README keeps its word: two commands, the same that are run before a change lands, and a tree of every file."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_two_commands_for_a_fresh_machine():
    section = README.split("## Two commands")[1].split("\n## ")[0]
    blocks = section.split("```sh\n")[1:]
    commands = [block.split("```")[0].strip() for block in blocks]
    assert len(commands) == 2
    assert all(
        command.startswith("python3 -m venv .venv && ") and "\n" not in command for command in commands
    )
    assert commands[0].endswith("benchfill run --gaps 3")
    assert "pip install -e '.[dev]'" in commands[1]
    before_landing = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip\" install --quiet -e '.[dev]'" in before_landing
    assert "-m pytest -n 2 --dist loadgroup" in before_landing
    assert commands[1].endswith("-m pytest -n 2 --dist loadgroup")


def test_the_tree_names_every_file():
    script = str(ROOT / "docs" / "annotated_tree.py")
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_every_command_is_in_the_readme():
    from benchfill.cli import app

    names = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    for name in names:
        assert f"`benchfill {name}" in README or f"`{name}" in README, name


def parts_of(name: str) -> tuple[list[str], list[str], list[str]]:
    """Shell blocks without their indent, first cells of tables, and pages that are linked to."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = [
        "\n".join(map(str.strip, each.splitlines())) for each in re.findall(r"```sh\n(.*?)```", text, re.S)
    ]
    cells = re.findall(r"^\| (`.*?) \|", text, re.M)
    return blocks, cells, re.findall(r"\]\((docs/[^)]*)\)", text)


def test_the_chinese_readme_has_the_commands_of_the_english_one():
    english, chinese = parts_of("README.md"), parts_of("README.zh.md")
    assert len(english[0]) >= 4
    assert chinese == english


def test_linked_pages_are_there():
    for page in parts_of("README.md")[2]:
        assert (ROOT / page).is_file(), page
