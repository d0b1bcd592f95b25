"""Prompt files: their hashes, and the folder of a user's over them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

import benchfill.prompts
from benchfill.errors import InputError
from benchfill.item import ANSWER_TYPES, Item
from benchfill.prompts.files import PLACEHOLDERS, VERSION
from benchfill.prompts.render import PromptBook

PACKAGED = Path(benchfill.prompts.__file__).parent / VERSION
PINNED = Path(__file__).parent / "pinned.json"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_hashes_are_those_of_the_packaged_files() -> None:
    book = PromptBook()
    assert book.version == VERSION == PACKAGED.name
    assert book.overridden == ()
    assert book.hashes() == {path.name: sha(path.read_text("utf-8")) for path in PACKAGED.iterdir()}
    assert set(book.hashes()) == set(PLACEHOLDERS)


def test_a_released_version_does_not_change() -> None:
    """Results name the version: changed text belongs in a new folder (or, unreleased, in pinned.json)."""
    assert json.loads(PINNED.read_text("utf-8")) == {VERSION: PromptBook().hashes()}


def test_a_folder_replaces_files_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "respondent.md").write_bytes("Réponds. \\boxed{} {{answer_form}} $x$\r\n".encode())
    (tmp_path / ".DS_Store").write_bytes(b"\xff\xfe")
    own, packaged = PromptBook(tmp_path), PromptBook()
    item = Item("q", "1+1?", "2", answer_type="yesno")
    assert own.answer(item)[0]["content"] == "Réponds. \\boxed{} Yes or No $x$"
    assert own.judge_blind(item, nonce="abcdef") == packaged.judge_blind(item, nonce="abcdef")
    assert own.overridden == ("respondent.md",)
    changed = {name for name in PLACEHOLDERS if own.hashes()[name] != packaged.hashes()[name]}
    assert changed == {"respondent.md"}
    assert own.hashes()["respondent.md"] == sha("Réponds. \\boxed{} {{answer_form}} $x$\n")
    assert own.version == f"{VERSION}+{own.fingerprint[:8]}"
    assert own.fingerprint != packaged.fingerprint


def test_braces_of_latex_are_no_placeholders(tmp_path: Path) -> None:
    (tmp_path / "respondent.md").write_text(r"x^{{2}} {{ spaced }} {answer_form}", "utf-8")
    assert (
        PromptBook(tmp_path).answer(Item("q", "?", "1"))[0]["content"]
        == r"x^{{2}} {{ spaced }} {answer_form}"
    )


FORMS = "".join(f"- {kind}: form\n" for kind in ANSWER_TYPES)


@pytest.mark.parametrize(
    ("name", "content", "kind", "says"),
    [
        ("respondant.md", b"hello", "unknown_prompt", "respondant.md"),
        ("respondent.md", b"", "empty_prompt", "respondent.md"),
        ("respondent.md", b"caf\xe9", "not_utf8", "UTF-8"),
        (
            "respondent.md",
            b"one\n{{question}}",
            "unknown_placeholder",
            "line 2: unknown placeholder",
        ),
        ("judge_key.md", b"{{key}}", "missing_placeholder", "{{solution}}"),
        ("answer_forms.md", FORMS.replace("- yesno: form\n", "").encode(), "missing_form", "yesno"),
        ("answer_forms.md", f"{FORMS}- yesno: again\n".encode(), "bad_form_line", "a second time"),
        ("key_forms.md", f"{FORMS}- poem: verse\n".encode(), "bad_form_line", "poem"),
        ("key_forms.md", f"# Forms\n{FORMS}".encode(), "bad_form_line", "line 1"),
    ],
)
def test_an_unusable_file_is_one_clear_line(
    tmp_path: Path, name: str, content: bytes, kind: str, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as caught:
        PromptBook(tmp_path)
    assert caught.value.kind == kind
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unusable_folder_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        PromptBook(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="is not a folder"):
        PromptBook(tmp_path / "file")
