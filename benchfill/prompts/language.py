"""The language of an item, as far as its text alone tells it."""

from __future__ import annotations

import re

from benchfill.item import Item

__all__ = ["UNKNOWN", "item_language"]

UNKNOWN = "as in the parent"

# Scripts that belong to one language. Kana before Han: Japanese text has both.
_SCRIPTS = (
    ("ja", re.compile(r"[\u3041-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ar", re.compile(r"[\u0620-\u064a]")),
)
# Letters that Persian and Urdu add to the Arabic ones: the script is shared, the language is not.
_NOT_ARABIC = re.compile(r"[\u067e\u0679\u0686\u0688\u0691\u0698\u06a9\u06af\u06be\u06c1\u06cc\u06d2]")
_ENGLISH = frozenset(
    [
        *("the", "of", "is", "are", "what", "how", "many", "much", "which", "and", "if", "that"),
        *("has", "have", "with", "from", "each", "find", "does", "to", "will", "than", "determine"),
    ]
)


def item_language(item: Item) -> str:
    """Language tag of an item: declared by its source, else told by script or by English function words.

    Returns
    -------
    str
        ``extra["language"]`` or ``extra["lang"]`` when it is text; ``zh``, ``ja``, ``ko``, ``ar`` by script;
        ``en`` when at least two English function words stand in the question; else "as in the parent",
        because Latin or Cyrillic letters alone do not tell a language.
    """
    for name in ("language", "lang"):
        declared = item.extra.get(name)
        if isinstance(declared, str) and declared.strip():
            return declared.strip()
    for tag, script in _SCRIPTS:
        if script.search(item.question):
            return UNKNOWN if tag == "ar" and _NOT_ARABIC.search(item.question) else tag
    words = set(re.findall(r"[a-z]+", item.question.lower()))
    return "en" if len(words & _ENGLISH) >= 2 else UNKNOWN
