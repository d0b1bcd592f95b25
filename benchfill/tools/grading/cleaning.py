"""From a raw response to the text that counts: characters, end tokens, reasoning, run-on questions, code."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["FinalText", "clean_characters", "extract_code", "final_text", "whole_text", "without_thinking"]

# Answers stand at the end, or at the beginning with explanations behind: of longer texts the middle is not read,
# so that a hostile one costs no more than a long one.
LONGEST_TAIL = 16_000
LONGEST_HEAD = 4_000

_INVISIBLE = dict.fromkeys(
    [0x00AD, 0x061C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)]
)
_MINUS = dict.fromkeys(map(ord, "−﹣－‐‑‒–"), "-")
_FIXED = {
    **_INVISIBLE,
    **_MINUS,
    ord("º"): "°",
    ord("˚"): "°",
    ord("٫"): ".",
    ord("٬"): ",",
    ord("٪"): "%",
    ord("。"): ". ",
    ord("、"): ", ",
    ord("，"): ", ",
    ord("．"): ".",
    ord("∶"): ":",
    ord("′"): "'",
    ord("“"): '"',
    ord("”"): '"',
    ord("‘"): "'",
    ord("’"): "'",
    ord("【"): "[",
    ord("】"): "]",
    ord("「"): '"',
    ord("」"): '"',
}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ", "0123456789+-ni")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n")

_END_TOKEN = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|endoftext|end|return|end_of_text|eos|end▁of▁sentence)\|>|</s>|<end_of_turn>|<eos>",
    re.IGNORECASE,
)
_ROLE_HEADER = re.compile(
    r"<\|(?:im_start|start_header_id|start)\|>\s*assistant(?:<\|end_header_id\|>)?|<start_of_turn>model"
)
_CHANNEL_FINAL = re.compile(r"<\|channel\|>\s*final\s*(?:<\|message\|>)?")
_CHANNEL_OTHER = re.compile(r"<\|channel\|>\s*(?:analysis|commentary)")
_THINKING = re.compile(
    r"(?P<open><(?:think|thinking|thought|thoughts|reasoning|reason|analysis|reflection|scratchpad|inner_monologue)"
    r"\b[^<>]{0,80}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)"
    r"|(?P<close></(?:think|thinking|thought|thoughts|reasoning|reason|analysis|reflection|scratchpad|inner_monologue)"
    r"\s*>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>)",
    re.IGNORECASE,
)
_NEXT_QUESTION = re.compile(
    r"\n[ \t]*(?:#+[ \t]*|\*\*)?(?:(?:next |new )?(?:question|problem|exercise)(?: \d+)?|Q\d*|user|human|instruction|"
    r"问题|問題|题目)(?:\*\*)?[ \t]*[:：]",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"####\s*\S|\\f?box(?:ed)?\s*\{[^{}]|\banswer\b\W{0,6}(?:is\b|:)|答案|答え", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class FinalText:
    """The part of a response that is graded.

    Parameters
    ----------
    text
        Cleaned text outside of the reasoning.
    open_thinking
        The reasoning was never closed: no answer was given behind it.
    """

    text: str
    open_thinking: bool


def clean_characters(text: str) -> str:
    """Give digits, minus signs, brackets and blanks their ASCII form and drop what is invisible."""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱ]+", lambda m: "^{" + m.group().translate(_SUPERSCRIPTS) + "}", text)
    text = re.sub("[₀₁₂₃₄₅₆₇₈₉₊₋ₙ]+", lambda m: "_{" + m.group().translate(_SUBSCRIPTS) + "}", text)
    text = re.sub(r"(\d?)([¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞])", _vulgar_fraction, text)
    text = unicodedata.normalize("NFKC", text.translate(_FIXED)).translate(_FIXED)
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(c, c)) for c in text)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _vulgar_fraction(match: re.Match[str]) -> str:
    top, _, bottom = unicodedata.normalize("NFKC", match.group(2)).partition("⁄")
    return f"{match.group(1)} {top}/{bottom}" if match.group(1) else f"{top}/{bottom}"


def final_text(response: str, *, cut_run_on: bool) -> FinalText:
    """Drop reasoning, leaked tokens and whatever follows the end of the answer.

    Parameters
    ----------
    response
        What the model sent.
    cut_run_on
        Cut where a new question begins behind a stated answer.
    """
    text, open_thinking = without_thinking(response)
    if len(text) > LONGEST_HEAD + LONGEST_TAIL:
        text = text[:LONGEST_HEAD] + "\n" + text[-LONGEST_TAIL:]
    text = re.sub(r"[ \t]{3,}", "  ", clean_characters(text))
    text = _without_tokens(re.sub(r"\n\s*\n", "\n\n", text))
    if cut_run_on:
        text = _without_run_on(text)
    return FinalText(text, open_thinking)


def whole_text(response: str) -> FinalText:
    """The response as it stands outside of its reasoning, for graders of whole texts: no character is changed."""
    text, open_thinking = without_thinking(response)
    return FinalText(_without_tokens(text.replace("\r\n", "\n")).strip(), open_thinking)


def _without_tokens(text: str) -> str:
    """Cut at the first leaked end token behind some text, and drop the others."""
    for end in _END_TOKEN.finditer(text):
        if text[: end.start()].strip():
            text = text[: end.start()]
            break
    return re.sub(r"<\|[a-z_▁]{1,40}\|>|</?s>", "", text)


def without_thinking(response: str) -> tuple[str, bool]:
    """Text outside of reasoning blocks; a closing tag without an opening one ends reasoning from the start."""
    finals = list(_CHANNEL_FINAL.finditer(response))
    if finals:
        response = response[finals[-1].end() :]
    elif _CHANNEL_OTHER.search(response):
        return "", True
    response = _ROLE_HEADER.sub("", response)
    kept: list[str] = []
    inside = False
    position = 0
    for tag in _THINKING.finditer(response):
        if tag.group("open"):
            if not inside:
                kept.append(response[position : tag.start()])
            inside = True
        elif inside:
            inside = False
        else:
            kept.clear()
        position = tag.end()
    if inside:
        return "", True
    kept.append(response[position:])
    return "".join(kept), False


def _without_run_on(text: str) -> str:
    stated = _STATED.search(text)
    marker = _NEXT_QUESTION.search(text, stated.end()) if stated else None
    return text[: marker.start()] if marker else text


def extract_code(response: str) -> str:
    """The program of a response: its last fenced block outside of the reasoning, else the whole text.

    A closing or an opening fence may be missing; a word behind the opening fence is a language tag only when it
    stands alone on its line.
    """
    text, _ = without_thinking(response)
    parts = re.split(
        r"^[ \t]*(?:```|~~~)[ \t]*([\w+#.-]*)[ \t]*$|(?<=\S)(?:```|~~~)[ \t]*$", text, flags=re.MULTILINE
    )
    # parts alternates text, tag, text, tag, ...: odd fences open, even ones close.
    bodies = parts[0::2]
    tags = parts[1::2]
    if not tags:
        return text.strip("\n").rstrip()
    if len(tags) == 1:
        before, after = bodies
        return (after if after.strip() else before).strip("\n").rstrip()
    blocks = [bodies[i + 1] for i in range(0, len(tags), 2) if bodies[i + 1].strip()]
    return blocks[-1].strip("\n").rstrip() if blocks else ""
