"""What of a response is read at all."""

from __future__ import annotations

import pytest

from benchfill.tools.grading.cleaning import clean_characters, extract_code, final_text


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("<think>a</think>b", "b"),
        ("a</think>b", "b"),
        ("<think>a</think>b<think>c</think>d", "bd"),
        ("<think>I write <think> here</think>b", "b"),
        ("<THINKING time='3'>a</THINKING>b", "b"),
        ("[THINK]a[/THINK]b", "b"),
        ("◁think▷a◁/think▷b", "b"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
            "b",
        ),
        ("b<|im_end|>\n<|im_start|>user\nc", "b"),
        ("b</s>", "b"),
    ],
)
def test_reasoning_and_tokens_are_no_text(response: str, text: str) -> None:
    assert final_text(response, cut_run_on=True).text.strip() == text


@pytest.mark.parametrize("response", ["<think>a", "b<think>a", "<|channel|>analysis<|message|>a"])
def test_open_reasoning_is_told(response: str) -> None:
    assert final_text(response, cut_run_on=True).open_thinking


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("４２", "42"),
        ("٤٢", "42"),
        ("−3", "-3"),
        ("x²", "x^{2}"),
        ("x₁", "x_{1}"),
        ("1½", "1 1/2"),
        ("½", "1/2"),
        ("\ufeff4\u200b2", "42"),
        ("\u00a0", " "),
        ("（Ｂ）", "(B)"),
        ("Cafe\u0301", "Café"),
        ("60º", "60°"),
    ],
)
def test_characters_have_one_form(raw: str, clean: str) -> None:
    assert clean_characters(raw) == clean


def test_a_run_on_question_is_cut_only_behind_an_answer() -> None:
    assert final_text("#### 7\n\nQuestion: next?", cut_run_on=True).text.strip() == "#### 7"
    assert "7" in final_text("Question: what is 3+4?\nThe sum is 7", cut_run_on=True).text


def test_the_last_block_of_code_counts() -> None:
    assert extract_code("```python\na = 1\n```\nBetter:\n```python\na = 2\n```") == "a = 2"
    assert extract_code("Here:\n~~~\na = 3\n~~~\nDone.") == "a = 3"
