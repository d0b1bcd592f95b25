"""Family and size of a model out of its name, for ladders of one family; a table of the user's overrides them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchfill.errors import InputError
from benchfill.logs.text import Faults, read_text

__all__ = ["ModelName", "format_models", "parse_model_name", "read_models"]

_COLUMNS = ("model", "family", "size_b")
# 7b, 0.5B, 125m. An underscore is a point only in sizes that models have: 1_5b is 1.5, but gemma_2_9b is 9.
_SIZE = re.compile(
    r"(?<![a-z0-9.])((?:0_\d|1_[135678]|2_7|6_7|\d+(?:\.\d+)?))\s*([bmt])(?![a-z0-9])", re.IGNORECASE
)
# A mixture of experts: 8x7b, 8x22B, 30b-a3b, 16e, moe. Its size stands for no rung of a ladder.
_MIXTURE = re.compile(
    r"(?<![a-z0-9])\d+x\d+(?:\.\d+)?b(?![a-z0-9])|(?<=b)[-_.]a\d+(?:\.\d+)?b(?![a-z0-9])"
    r"|(?<![a-z0-9])(?:moe|\d+e)(?![a-z0-9])",
    re.IGNORECASE,
)
# Ways to pack or run the same weights; a family does not change with them.
_PACKING = re.compile(
    r"[-_.](?:gguf|gptq(?:-int[48])?|awq|int[48]|fp8|fp16|bf16|[48]bit|q\d(?:_[0-9k](?:_[sml])?)?|hf|turbo(?=$)|latest)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)
_UNIT_IN_BILLIONS = {"b": 1.0, "m": 1e-3, "t": 1e3}


@dataclass(frozen=True, slots=True)
class ModelName:
    """Family ("" when unknown) and size in billions of parameters (None when unnamed or a mixture of experts)."""

    family: str = ""
    size_b: float | None = None
    mixture: bool = False


def parse_model_name(name: str) -> ModelName:
    """Family and size that a name states.

    Parameters
    ----------
    name
        E.g. ``meta-llama/Llama-3.1-8B-Instruct``, ``ollama/qwen2.5:0.5b``, ``google_gemma_2_9b_it``.

    Returns
    -------
    ModelName
        The family is the last part of the name without the size, in lower case with hyphens; empty when the name
        states no size, because nothing then tells a family from a single model. A mixture of experts has no size.
    """
    last = re.split(r"[/\\]", name.strip())[-1].replace(":", "-")
    plain = _PACKING.sub("", last)
    mixture = _MIXTURE.search(plain) is not None
    family = _MIXTURE.sub("", plain)
    sizes = list(_SIZE.finditer(family))
    if not sizes and not mixture:
        return ModelName()
    for match in reversed(sizes):
        family = family[: match.start()] + family[match.end() :]
    family = re.sub(r"[-_\s.]{2,}", "-", family).strip("-_. ")
    family = re.sub(r"[_\s]+", "-", family).casefold()
    if mixture or len(sizes) != 1:
        return ModelName(family, None, mixture)
    number = float(sizes[0][1].replace("_", "."))
    return ModelName(family, number * _UNIT_IN_BILLIONS[sizes[0][2].casefold()])


def read_models(path: Path | str) -> dict[str, ModelName]:
    """Families and sizes of a table ``model,family,size_b``; further columns are left alone.

    Raises
    ------
    InputError
        ``missing_column``, ``bad_row``, ``duplicate_model`` or ``bad_size``, with lines.
    """
    name = str(path)
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""))
    missing = [column for column in _COLUMNS if column not in (rows.fieldnames or ())]
    if missing:
        raise InputError(
            f"{name}: the column {missing[0]!r} is missing.",
            "A table of models has the columns model, family, size_b.",
            kind="missing_column",
            path=name,
        )
    faults, found = Faults(name), dict[str, ModelName]()
    for row in rows:
        model, family, size = (row.get(column) for column in _COLUMNS)
        if not model or family is None or size is None:
            faults.add("bad_row", rows.line_num, "no model, or cells are missing")
        elif model in found:
            faults.add("duplicate_model", rows.line_num, f"the model {model!r} stands twice")
        else:
            try:
                value = float(size) if size.strip() else None
            except ValueError:
                value = -1.0
            if value is not None and not 0.0 < value < 1e6:
                faults.add(
                    "bad_size", rows.line_num, f"size_b of {model!r} is {size!r}", "Billions, or empty."
                )
            found[model] = ModelName(family.strip(), value)
    faults.raise_any()
    return found


def format_models(models: Iterable[tuple[str, ModelName]]) -> str:
    """The table that `read_models` reads."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for name, model in models:
        writer.writerow([name, model.family, "" if model.size_b is None else f"{model.size_b:g}"])
    return text.getvalue()
