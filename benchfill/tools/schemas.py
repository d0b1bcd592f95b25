"""What a model may call: one pydantic model a tool, strict about types, with descriptions a model can act on.

The title of a model is the name of its tool (``tool_name``); its docstring and field descriptions are what
the model reads. Tolerance for what models really send (numbers for texts, doubly encoded JSON) is not here
but in ``tool_calls``: a schema says what is right.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = [
    "PROBLEMS",
    "EvaluateExpression",
    "LookUpItem",
    "Problem",
    "SubmitAnswer",
    "SubmitGrade",
    "SubmitItem",
    "SubmitVerdict",
    "tool_name",
]

Problem = Literal[
    "key_wrong",
    "several_answers",
    "under_specified",
    "contradictory",
    "not_self_contained",
    "off_skill",
    "copy",
]
PROBLEMS: tuple[Problem, ...] = get_args(Problem)


def _filled(limit: int) -> AfterValidator:
    """Text that is not blank and at most ``limit`` characters long.

    Checked here and not written into the JSON schema: servers that turn a schema into a grammar refuse long
    repetitions and most regular expressions, and with them the whole request.
    """

    def check(text: str) -> str:
        if not text.strip():
            raise ValueError("must not be empty")
        if len(text) > limit:
            raise ValueError(f"must not be longer than {limit:,} characters, has {len(text):,}")
        return text

    return AfterValidator(check)


def _at_most_26(options: list[str] | None) -> list[str] | None:
    if options is not None and len(options) > 26:
        raise ValueError("must not hold more than 26 options")
    return options


def _tool(name: str) -> ConfigDict:
    return ConfigDict(title=name, strict=True, extra="forbid", frozen=True)


class LookUpItem(BaseModel):
    """Show the full text, key, solution and measured difficulty of one item named in the prompt."""

    model_config = _tool("look_up_item")

    id: Annotated[str, _filled(200), Field(description="The id exactly as given, e.g. s-12.")]


class EvaluateExpression(BaseModel):
    """Compute exactly. Use it for every number you rely on; it never guesses.

    Arithmetic: + - * / // % ^ ! parentheses, decimals and fractions (exact), comparisons such as 3^5 > 2^8.
    Functions: sqrt, cbrt, root(x, n), abs, floor, ceil, round(x, digits) (halves away from zero), gcd,
    lcm, factorial, binomial(n, k), mod(a, b), min, max, ln, log(x) (natural), log(x, base), exp, sin, cos,
    tan, asin, acos, atan (radians), isprime, factorint, divisors, totient; constants pi, e, oo, I
    (imaginary unit). Algebra with single-letter symbols: solve(x^2 = 2, x),
    solve([x + y = 3, x - y = 1], [x, y]), simplify, expand, factor, diff(f, x), integrate(f, x),
    integrate(f, x, a, b), limit(f, x, a), subs(f, x, value), sum(f, k, a, b), product(f, k, a, b).
    The reply is the exact result with its decimal value, or a line that starts with "error:".
    """

    model_config = _tool("evaluate_expression")

    expression: Annotated[
        str,
        _filled(4000),
        Field(description="One plain expression, not LaTeX and not code, e.g. 3/4 + sqrt(2)*5^2."),
    ]


class SubmitItem(BaseModel):
    """Hand in the finished item. A refused one comes back with the reason; correct it and submit again."""

    model_config = _tool("submit_item")

    question: Annotated[
        str,
        _filled(20000),
        Field(
            description="The complete question as a respondent reads it, self-contained, without its answer "
            "and without the answer options. In JSON every LaTeX backslash is doubled: \\\\frac.",
        ),
    ]
    answer: Annotated[
        str,
        _filled(2000),
        Field(
            description="The key: only the final answer, in the form of the parent's key; for multiple "
            "choice the letter of the right option.",
        ),
    ]
    solution: Annotated[
        str,
        _filled(20000),
        Field(description="A worked solution, step by step, that ends in exactly this answer."),
    ]
    choices: Annotated[
        list[Annotated[str, _filled(2000)]] | None,
        AfterValidator(_at_most_26),
        Field(
            description="The options in order (A, B, ...) without their letters, only where the parent has "
            "options; otherwise leave it out.",
        ),
    ] = None
    rationale: Annotated[
        str,
        _filled(4000),
        Field(
            description="One to three sentences: what was changed and why that should land at the target.",
        ),
    ]


class SubmitAnswer(BaseModel):
    """Hand in your own answer to the question, worked out before you see any key."""

    model_config = _tool("submit_answer")

    answer: Annotated[
        str,
        _filled(20000),
        Field(
            description='Only the final answer, e.g. 42 or \\\\frac{3}{4} or B; write "none" when the '
            'question has no answer and "several" when it has more than one.',
        ),
    ]


class SubmitVerdict(BaseModel):
    """Hand in the verdict, once, after comparing your own answer with the key and the solution."""

    model_config = _tool("submit_verdict")

    valid: Annotated[
        bool,
        Field(description="true only when the key is right, it is the only answer, and no problem applies."),
    ]
    problems: Annotated[
        list[Problem],
        Field(
            description="Every problem that applies, empty when there is none. key_wrong: the key is not "
            "the answer. several_answers: more than one answer can be defended. under_specified: something "
            "needed is not given. contradictory: the givens cannot all hold. not_self_contained: it needs a "
            "figure, passage or context that is absent. off_skill: it no longer tests the skill of its "
            "subject. copy: it restates a known item.",
        ),
    ]
    answer: Annotated[
        str, _filled(2000), Field(description="The answer you now hold to be right, final answer only.")
    ]
    reason: Annotated[str, _filled(4000), Field(description="Why, in one to three sentences.")]


class SubmitGrade(BaseModel):
    """Hand in the grade of the response, once."""

    model_config = _tool("submit_grade")

    verdict: Annotated[
        Literal["correct", "wrong", "cannot_tell"],
        Field(
            description="correct: the final answer of the response means the same as the key. wrong: it means "
            "something else, or there is none. cannot_tell: key or answer cannot be read for certain."
        ),
    ]
    answer: Annotated[
        str,
        Field(description="The final answer of the response, copied from it; empty when there is none."),
    ] = ""
    reason: Annotated[str, _filled(4000), Field(description="Why, in one sentence.")]


def tool_name(schema: type[BaseModel]) -> str:
    """Name under which a schema is offered as a tool: its title, else its class name."""
    return schema.model_config.get("title") or schema.__name__
