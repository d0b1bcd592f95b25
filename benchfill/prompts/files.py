"""The prompt files of a version, a folder of the user's over them, and the hash of each.

A placeholder is a name in double braces, so that LaTeX and dollar signs stand in a prompt as they are.
Files are text: what is hashed is what is rendered, with line ends as a single line feed on every system.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from benchfill.errors import InputError
from benchfill.item import ANSWER_TYPES

__all__ = ["PLACEHOLDERS", "VERSION", "PromptFiles"]

VERSION = "v1"

# File name -> placeholders it must contain, and those it may contain besides.
PLACEHOLDERS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "rewriter.md": (frozenset(), frozenset({"levers", "key_form"})),
    "rewriter_task.md": (
        frozenset({"task", "parent", "references", "earlier"}),
        frozenset({"nonce", "writer", "writers", "target"}),
    ),
    "levers_mathematics.md": (frozenset(), frozenset()),
    "levers_choice.md": (frozenset(), frozenset()),
    "levers_logic.md": (frozenset(), frozenset()),
    "levers_instruction.md": (frozenset(), frozenset()),
    "key_forms.md": (frozenset(), frozenset()),
    "answer_forms.md": (frozenset(), frozenset()),
    "judge.md": (frozenset(), frozenset({"answer_form"})),
    "judge_item.md": (frozenset({"item"}), frozenset({"nonce"})),
    "judge_key.md": (frozenset({"key", "solution"}), frozenset({"nonce", "key_form"})),
    "grader.md": (frozenset(), frozenset()),
    "grader_item.md": (frozenset({"item", "key", "response"}), frozenset({"nonce", "key_form"})),
    "respondent.md": (frozenset(), frozenset({"answer_form"})),
}
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_FORM = re.compile(r"- ([a-z-]+): (\S.*)")


class PromptFiles:
    """The texts of all prompt files, checked when they are read.

    Parameters
    ----------
    folder
        Folder whose files replace packaged ones of the same name; None for the packaged files alone.
        Hidden files are passed over.

    Raises
    ------
    InputError
        Folder missing, a file name that is no prompt's, a file that is empty or not UTF-8, a placeholder
        unknown to that prompt, a required one absent, or a form table that misses an answer type.
    """

    def __init__(self, folder: Path | None = None) -> None:
        packaged = resources.files("benchfill.prompts") / VERSION
        self.texts = {name: _normal((packaged / name).read_text("utf-8")) for name in PLACEHOLDERS}
        self.overridden: tuple[str, ...] = ()
        if folder is not None:
            own = _read_folder(folder)
            self.texts.update(own)
            self.overridden = tuple(sorted(own))
        origin = str(folder) if folder is not None else VERSION
        for name, text in self.texts.items():
            _check_placeholders(name, text, origin)
        self.key_forms = _read_forms("key_forms.md", self.texts["key_forms.md"], origin)
        self.answer_forms = _read_forms("answer_forms.md", self.texts["answer_forms.md"], origin)

    def hashes(self) -> dict[str, str]:
        """Sha256 (hex) of the UTF-8 text of every prompt file in use, by file name."""
        return {name: hashlib.sha256(self.texts[name].encode()).hexdigest() for name in sorted(self.texts)}

    def fingerprint(self) -> str:
        """Sha256 (hex) over all names and hashes: one value for the whole method."""
        lines = "".join(f"{name} {digest}\n" for name, digest in self.hashes().items())
        return hashlib.sha256(lines.encode()).hexdigest()

    def fill(self, name: str, values: Mapping[str, str]) -> str:
        """Text of a prompt with its placeholders replaced once; values are never looked into."""
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.texts[name]).strip("\n")


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").removeprefix("\ufeff")


def _read_folder(folder: Path) -> dict[str, str]:
    """Prompt files of a user's folder."""
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(
            f"The prompt folder {folder} {what}.",
            "Name a folder that holds the prompt files to replace.",
            kind="prompt_folder",
            path=str(folder),
        )
    own = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.name not in PLACEHOLDERS:
            raise InputError(
                f"{path} is not a prompt file.",
                f"The prompt files are: {', '.join(sorted(PLACEHOLDERS))}.",
                kind="unknown_prompt",
                path=str(path),
            )
        try:
            text = _normal(path.read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(
                f"{path} is not UTF-8 text.", "Save it as UTF-8.", kind="not_utf8", path=str(path)
            ) from None
        except OSError as error:
            raise InputError(
                f"{path} cannot be read: {error.strerror}.", kind="unreadable", path=str(path)
            ) from None
        if not text.strip():
            raise InputError(
                f"{path} is empty.",
                "Write a prompt, or remove the file to use the packaged one.",
                kind="empty_prompt",
                path=str(path),
            )
        own[path.name] = text
    return own


def _check_placeholders(name: str, text: str, origin: str) -> None:
    required, allowed = PLACEHOLDERS[name]
    found = set(_PLACEHOLDER.findall(text))
    for number, line in enumerate(text.split("\n"), start=1):
        for placeholder in _PLACEHOLDER.findall(line):
            if placeholder not in required | allowed:
                known = ", ".join(sorted(required | allowed)) or "none"
                raise InputError(
                    f"{name} in {origin}, line {number}: unknown placeholder {{{{{placeholder}}}}}.",
                    f"Placeholders of {name}: {known}.",
                    kind="unknown_placeholder",
                    path=f"{origin}/{name}",
                    lines=(number,),
                )
    missing = sorted(required - found)
    if missing:
        raise InputError(
            f"{name} in {origin} lacks the placeholder {{{{{missing[0]}}}}}.",
            "Without it the model would not see the data; put it where the data belongs.",
            kind="missing_placeholder",
            path=f"{origin}/{name}",
        )


def _read_forms(name: str, text: str, origin: str) -> dict[str, str]:
    """Answer type -> form, from lines "- type: form"; every answer type exactly once."""
    forms: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        match = _FORM.fullmatch(line.rstrip())
        fault = ""
        if match is None:
            fault = 'is not of the form "- type: text"'
        elif match[1] not in ANSWER_TYPES:
            fault = f"names an unknown answer type {match[1]}"
        elif match[1] in forms:
            fault = f"gives {match[1]} a second time"
        if match is None or fault:
            raise InputError(
                f"{name} in {origin}: line {number} {fault}.",
                f"One line for each of: {', '.join(ANSWER_TYPES)}.",
                kind="bad_form_line",
                path=f"{origin}/{name}",
                lines=(number,),
            )
        forms[match[1]] = match[2]
    missing = [kind for kind in ANSWER_TYPES if kind not in forms]
    if missing:
        raise InputError(
            f"{name} in {origin} has no line for {', '.join(missing)}.",
            'Add a line "- type: text" for each.',
            kind="missing_form",
            path=f"{origin}/{name}",
        )
    return forms
