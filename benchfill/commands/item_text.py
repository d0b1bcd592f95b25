"""An item as text for an editor: a section a field, nothing escaped."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from benchfill.errors import InputError
from benchfill.item import Item

__all__ = ["edit_in_editor", "item_from_text", "text_of_item"]

_SECTION = re.compile(r"^=== (question|answer|solution|choices)\s*$", re.MULTILINE)
_NOTE = "Leave the lines that begin with === as they are. Choices: one a line. Save and close to go on."


def text_of_item(item: Item) -> str:
    """The text that is edited."""
    parts = [_NOTE, f"=== question\n{item.question}"]
    if item.choices:
        parts.append("=== choices\n" + "\n".join(choice.replace("\n", " ") for choice in item.choices))
    parts += [f"=== answer\n{item.answer}", f"=== solution\n{item.solution}"]
    return "\n\n".join(parts) + "\n"


def item_from_text(text: str, item: Item) -> Item:
    """The item that an edited text describes.

    Raises
    ------
    InputError
        A section is missing or stands twice (kind ``bad_text``).
    """
    pieces = _SECTION.split(text)
    names, bodies = pieces[1::2], [body.strip() for body in pieces[2::2]]
    expected = {"question", "answer", "solution", *(["choices"] if item.choices else [])}
    if sorted(names) != sorted(expected):
        raise InputError(
            f"The edited text has the sections {', '.join(names) or 'none'}.",
            f"It needs each of {', '.join(sorted(expected))} once, as a line === name.",
            kind="bad_text",
        )
    found = dict(zip(names, bodies, strict=True))
    choices = tuple(line.strip() for line in found.get("choices", "").split("\n") if line.strip())
    return dataclasses.replace(
        item, question=found["question"], answer=found["answer"], solution=found["solution"], choices=choices
    )


def edit_in_editor(item: Item, editor: str | None) -> Item | None:
    """Let the user edit an item; None when the text came back as it was.

    Parameters
    ----------
    editor
        The command, as ``$VISUAL`` or ``$EDITOR`` name it; None where neither does.

    Raises
    ------
    InputError
        There is no editor or no terminal for it (kind ``no_editor``), or it failed.
    """
    if not editor or not sys.stdin.isatty():
        raise InputError(
            "There is no editor to write in: EDITOR is not set, or this is no terminal.",
            "Give the text: --question, --answer, --solution, --choice; or --from FILE.",
            kind="no_editor",
        )
    before = text_of_item(item)
    with tempfile.TemporaryDirectory(prefix="benchfill-") as folder:
        path = Path(folder) / "item.txt"
        path.write_text(before, encoding="utf-8")
        try:
            # The command is the user's own.
            code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode  # noqa: S603
        except (OSError, ValueError) as error:
            raise InputError(
                f"The editor {editor!r} cannot be started.", "Set EDITOR.", kind="no_editor"
            ) from error
        if code:
            raise InputError(f"The editor ended with code {code}; nothing was changed.", kind="no_editor")
        after = path.read_text(encoding="utf-8")
    return None if after == before else item_from_text(after, item)
