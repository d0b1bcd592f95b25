"""What a reader of a log format gives: one record an answer, with the scores as the log has them.

Readers choose nothing. Which filter, which metric, what a partial score means and which items are the same is
decided once for all files of an import (`benchfill.logs.importing`), so that files cannot disagree about it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from benchfill.item import Item
from benchfill.logs.model_names import ModelName

if TYPE_CHECKING:
    from benchfill.logs.harness.source import Source

__all__ = ["ItemText", "LogFormat", "LogRecord", "ReadContext", "fingerprint"]


@dataclass(frozen=True, slots=True)
class ItemText:
    """An item as one log shows it.

    Parameters
    ----------
    question
        Without the options; empty when the log does not have it.
    key
        The right answer: text, number, or a list of these.
    key_form
        How a key of an item with options is meant: ``index`` (of an option, from 0), ``letter``, ``text`` of an
        option, or ``any`` (read like the key of an item file, refused when two readings differ).
    choices
        Options in any form that `benchfill.logs.choices.read_options` knows; None when the answer is free.
    solution
        Worked solution, when the log has one.
    from_prompt
        The question is what the model was shown, not a field of the data set: the same item may look
        different in the logs of two models.
    """

    question: str = ""
    key: Any = None
    key_form: Literal["any", "index", "letter", "text"] = "any"
    choices: Any = None
    solution: str = ""
    from_prompt: bool = False


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One answer of one model to one item, or the fact that there is none.

    Parameters
    ----------
    model, item
        Ids as text. An item id is unique within its task.
    scores
        Metric to score as in the log: true or false, a number, a letter, None. Empty when nothing was scored.
        A verdict that leaves nothing to choose, from an earlier import, stands under the empty name.
    task
        Name of the benchmark or subset.
    attempt
        What tells repeated answers of one file apart: epoch, trial, number of the sample.
    filter
        How the answer was extracted, where a log repeats a row for each way.
    missing
        Why there is no score: infrastructure error, never run. Such an attempt is missing, not wrong.
    main_metric
        The metric the log or the harness calls its main one.
    response
        Fingerprint of the model's answer, to see identical repeats; None when the log does not have it.
    uid
        Identity of this very answer, where the harness writes one: the same answer may stand in two files.
    text
        The item, when the log shows it.
    line
        One-based line or number of the record, for messages.
    counts
        Right answers and attempts, when the log has only these.
    """

    model: str
    item: str
    scores: Mapping[str, Any]
    task: str = ""
    attempt: str = "1"
    filter: str = ""
    missing: str = ""
    main_metric: str = ""
    response: str | None = None
    uid: str = ""
    text: ItemText | None = None
    line: int = 0
    counts: tuple[int, int] | None = None


@dataclass
class ReadContext:
    """What a reader is told, and where it leaves what the report must say.

    Parameters
    ----------
    model
        Name for a model whose log does not name it; None lets the reader use the name of file or folder.
    rows
        What the rows of a wide table are, where its header is silent.
    threshold
        Scores between 0 and 1 count as right from here on, for tables of counts, which have no other scores.
    notes
        One sentence each.
    items
        Items of item files, by the ids of the responses.
    models
        Family and size of models, when a file states them.
    """

    model: str | None = None
    rows: Literal["models", "items"] | None = None
    threshold: float | None = None
    notes: list[str] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    models: dict[str, ModelName] = field(default_factory=dict)

    def note(self, sentence: str) -> None:
        """Leave a sentence for the report, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def name_model(self, found: str, fallback: str, source: Source) -> str:
        """The model's name: from the log, from the user, or from the name of file or folder with a note."""
        if found:
            return found
        if self.model:
            return self.model
        self.note(f"{source.shown} does not name its model; called {fallback!r} (--model renames it).")
        return fallback


@runtime_checkable
class LogFormat(Protocol):
    """A format of logs. Entry points of the group ``benchfill.log_formats`` name objects of this shape.

    Attributes
    ----------
    name
        What ``--format`` calls it.
    verified
        Whether the reader was held against files that the harness wrote, not only against documents.
    """

    name: str
    verified: bool

    def detect(self, source: Source) -> bool:
        """Whether a file or folder is of this format; looks at the content, cheaply, and never raises."""
        ...

    def read(self, source: Source, context: ReadContext) -> Iterator[LogRecord]:
        """Records of one file or folder.

        Raises
        ------
        InputError
            The log cannot be read; with all places.
        """
        ...


def fingerprint(*texts: str) -> str:
    """Sixteen hex digits of the SHA-256 of texts; half surrogates, which cut-off replies hold, are allowed."""
    joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(joined).hexdigest()[:16]
