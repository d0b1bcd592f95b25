"""Constraints on a text: each one kept and broken by texts counted by hand, keys that are none, the loose reading."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from benchfill.tools.grading.instruction_counts import count_sentences, count_words
from benchfill.tools.grading.instructions import (
    INSTRUCTIONS,
    ConstraintFault,
    check_instructions,
    conflict,
    read_constraints,
)
from benchfill.tools.grading.languages import LANGUAGES, language_of
from tests.tools.grading.conftest import Grading


def key(*constraints: tuple[str, dict[str, Any]]) -> str:
    return json.dumps(
        {
            "instruction_id_list": [name for name, _ in constraints],
            "kwargs": [given for _, given in constraints],
        }
    )


# constraint, arguments, texts that keep it, texts that break it
CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    ("keywords:existence", {"keywords": ["Sea", "海"]}, ["the sea 海"], ["the sea", "海水"]),
    ("keywords:frequency", {"keyword": "tea", "relation": "at least", "frequency": 2}, ["Tea, tea"], ["tea"]),
    ("keywords:frequency", {"keyword": "tea", "relation": "less than", "frequency": 2}, ["Tea", "x"], ["tea tea"]),
    ("keywords:forbidden_words", {"forbidden_words": ["car"]}, ["my careful oscar"], ["a Car!", "car"]),
    ("keywords:forbidden_words", {"forbidden_words": ["大海"]}, ["海大"], ["我爱大海。"]),
    (
        "keywords:letter_frequency",
        {"letter": "Q", "let_relation": "at least", "let_frequency": 3},
        ["q Qq"],
        ["q q", ""],
    ),
    ("language:response_language", {"language": "de"}, ["Das ist nicht der Hund."], ["This is not the dog."]),
    ("language:response_language", {"language": "zh-cn"}, ["今天的天气很好。"], ["今日の天気はいいです。"]),
    ("length_constraints:number_words", {"relation": "at least", "num_words": 3}, ["a b c"], ["a b"]),
    ("length_constraints:number_words", {"relation": "less than", "num_words": 3}, ["a b"], ["a b c"]),
    ("length_constraints:number_words", {"relation": "at most", "num_words": 3.0}, ["a b c"], ["a b c d"]),
    ("length_constraints:number_words", {"relation": "exactly", "num_words": 4}, ["我爱 you 的"], ["我爱你"]),
    (
        "length_constraints:number_sentences",
        {"relation": "exactly", "num_sentences": 2},
        ["Dr. Lee has 3.5 kg. So?", "One! Two"],
        ["One.", "A. b"],
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, ["a\n***\nb", "***\na\n***\nb"], ["a\n\nb"]),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, ["a *** b"], ["a\n***\n \n***\nb", "a"]),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "weather"},
        ["a\n\nWeather, it is", "a\n\n\n**weather** b"],
        ["weather\n\na", "a\n\nWeathered", "a\n\nweather\n\nb"],
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, ["[a] [b c]"], ["[a] []", "[a\n]"]),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, ["x\nP.S. y", "x p. s. y"], ["PS y", "caps. x"]),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, ["x\nP.P.S y"], ["x\nP.S. y"]),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        ["* a\n- b", "  * a\n* b\n**c**\n---"],
        ["* a", "* a\n* b\n* c"],
    ),
    ("detectable_format:constrained_response", {}, ["My answer is maybe.", "So: my  answer is NO."], ["My answer is"]),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2}, ["*a* **b c**"], ["**a**", "* a\n* b"]),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": "Section", "num_sections": 2},
        ["Section 1 a\nSection 2 b"],
        ["Section 1", "section 1 section 2"],
    ),
    ("detectable_format:json_format", {}, ['{"a": [1]}', '```json\n{"a": 1}\n```'], ["{'a': 1}", "5", "[" * 9999]),
    ("detectable_format:title", {}, ["<<A song>>\nla"], ["<< >>", "<A>", "<<a\nb>>"]),
    ("combination:two_responses", {}, ["a ****** b"], ["a", "a ****** a", "a ****** b ****** c"]),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say it."}, ["say  it. Yes"], ["Yes. Say it."]),
    ("startend:start_checker", {"start_phrase": "Dear"}, ["dear all", "“Dear”"], ["Oh dear"]),
    ("startend:end_checker", {"end_phrase": "Bye."}, ["x bye.", '"Bye."'], ["Bye. x"]),
    ("startend:quotation", {}, ['"a b"', "“a”"], ["'a'", 'a "b"', '"']),
    (
        "change_case:capital_word_frequency",
        {"capital_relation": "at most", "capital_frequency": 1},
        ["NASA flies", "Nasa"],
        ["NASA and ESA"],
    ),
    ("change_case:english_capital", {}, ["THIS IS IT, 5!"], ["THIS IS iT", "ДА ЭТО ОН"]),
    ("change_case:english_lowercase", {}, ["this is it, 5!"], ["This is it", "5"]),
    ("punctuation:no_comma", {}, ["a; b."], ["a, b", "一，二", "ا، ب"]),
]  # fmt: skip


def test_every_constraint_has_a_case() -> None:
    assert {name for name, *_ in CASES} == set(INSTRUCTIONS)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_kept_and_broken(number: int) -> None:
    name, given, kept, broken = CASES[number]
    for text in kept:
        assert check_instructions(key((name, given)), text, False)[0] == "correct", text
    for text in broken:
        verdict, reason = check_instructions(key((name, given)), text, False)
        assert verdict == "wrong", text
        assert reason.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("", 0, 0),
        ("It's 3 o'clock.", 5, 1),
        ("Mr. Smith met J. R. R. Tolkien, e.g. in Oxford. He left at 5 p.m. on foot.", 19, 2),
        ("1. First\n2. Second", 4, 1),
        ('Really?! Yes... No. "Fine." he said', 6, 5),
        ("今天很好。你呢？", 6, 2),
        ("هل هذا صحيح؟ نعم.", 4, 2),
        ("no end at all", 4, 1),
        ("Pears etc. are fruit. Bread etc. Milk is not.", 9, 3),
    ],
)
def test_counts(text: str, words: int, sentences: int) -> None:
    assert (count_words(text), count_sentences(text)) == (words, sentences)


TEXTS = {
    "en": "The weather is nice today and we are going to the park with our friends.",
    "es": "El tiempo es bueno hoy y vamos al parque con nuestros amigos porque hace sol.",
    "pt": "O tempo está bom hoje e nós vamos ao parque com os nossos amigos, não é?",
    "fr": "Il fait beau aujourd'hui et nous allons au parc avec nos amis dans la ville.",
    "de": "Das Wetter ist heute schön und wir gehen mit unseren Freunden in den Park.",
    "it": "Oggi il tempo è bello e andiamo al parco con i nostri amici della città.",
    "nl": "Het weer is vandaag mooi en we gaan met onze vrienden naar het park.",
    "pl": "Dzisiaj pogoda jest ładna i idziemy do parku z naszymi przyjaciółmi.",
    "fi": "Tänään sää on kaunis ja me menemme puistoon, mutta hän ei ole mukana.",
    "vi": "Hôm nay thời tiết rất đẹp và chúng tôi đi công viên với bạn bè của mình.",
    "sw": "Leo hali ya hewa ni nzuri na watu wanaenda katika bustani kwa furaha yao.",
    "tr": "Bugün hava çok güzel ve biz arkadaşlar ile parka gidiyoruz ama o gelmiyor.",
    "sv": "Vädret är fint i dag och vi går till parken med våra vänner för att det är soligt.",
    "id": "Hari ini cuaca bagus dan kita pergi ke taman dengan teman yang tidak sibuk.",
    "ru": "Сегодня хорошая погода, и мы идём в парк, потому что он большой и не далеко.",
    "uk": "Сьогодні гарна погода, і ми йдемо в парк, бо він великий і це не далеко.",
    "bg": "Днес времето е хубаво и ние отиваме в парка, защото той е голям и не е далеч.",
    "ar": "الطقس جميل اليوم ونحن ذاهبون إلى الحديقة مع الأصدقاء في المدينة.",
    "fa": "امروز هوا خوب است و ما با دوستان خود به پارک می رویم که بزرگ است.",
    "ur": "آج موسم اچھا ہے اور ہم دوستوں کے ساتھ پارک میں جا رہے ہیں۔",
    "hi": "आज मौसम अच्छा है और हम दोस्तों के साथ पार्क में जा रहे हैं।",
    "mr": "आज हवामान छान आहे आणि आम्ही मित्रांसोबत उद्यानात जात आहोत.",
    "ne": "आज मौसम राम्रो छ र हामी साथीहरूसँग पार्क मा जाँदै छौं, यो ठूलो छ।",
    "bn": "আজ আবহাওয়া ভালো এবং আমরা পার্কে যাচ্ছি।",
    "pa": "ਅੱਜ ਮੌਸਮ ਚੰਗਾ ਹੈ।",
    "gu": "આજે હવામાન સારું છે.",
    "ta": "இன்று வானிலை நன்றாக உள்ளது.",
    "te": "ఈ రోజు వాతావరణం బాగుంది.",
    "kn": "ಇಂದು ಹವಾಮಾನ ಚೆನ್ನಾಗಿದೆ.",
    "ml": "ഇന്ന് കാലാവസ്ഥ നല്ലതാണ്.",
    "th": "วันนี้อากาศดีมาก",
    "ko": "오늘은 날씨가 좋습니다.",
    "ja": "今日は天気がいいので、公園に行きます。",
    "zh": "今天天气很好，我们去公园（Central Park）。",
    "he": "מזג האוויר נעים היום.",
    "el": "Ο καιρός είναι καλός σήμερα.",
}


def test_languages_are_told_apart() -> None:
    assert set(TEXTS) == LANGUAGES
    assert {name: language_of(text) for name, text in TEXTS.items()} == {name: name for name in TEXTS}
    assert [language_of(text) for text in ("", "42!", "Xyzzy plugh")] == [None] * 3


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ("at least 3 words", "not JSON"),
        ("[]", "no JSON object"),
        ('{"instruction_id_list": [], "kwargs": []}', "two lists"),
        ('{"instruction_id_list": ["punctuation:no_comma"], "kwargs": []}', "two lists"),
        (key(("punctuation:no_dots", {})), "no constraint"),
        (key(("startend:quotation", {"mark": "x"})), "no argument mark"),
        (key(("length_constraints:number_words", {"relation": "at least"})), "lacks num_words"),
        (
            key(("length_constraints:number_words", {"relation": "about", "num_words": 5})),
            "cannot be 'about'",
        ),
        (
            key(("length_constraints:number_words", {"relation": "at least", "num_words": 2.5})),
            "cannot be 2.5",
        ),
        (key(("length_constraints:number_paragraphs", {"num_paragraphs": True})), "cannot be True"),
        (key(("keywords:existence", {"keywords": []})), "cannot be []"),
        (key(("language:response_language", {"language": "xx"})), "cannot be 'xx'"),
    ],
)
def test_keys_that_are_no_constraints(grading: Grading, broken: str, says: str) -> None:
    with pytest.raises(ConstraintFault) as caught:
        read_constraints(broken)
    assert says in str(caught.value)
    assert grading("instructions", broken, "text").verdict == "ungraded"


def test_constraints_that_exclude_each_other() -> None:
    words, letter = "length_constraints:number_words", "keywords:letter_frequency"

    def of(*constraints: tuple[str, dict[str, Any]]) -> str:
        return conflict(read_constraints(key(*constraints)))

    low = (words, {"relation": "at least", "num_words": 100})
    assert of(low, (words, {"relation": "less than", "num_words": 100})) != ""
    assert of(low, (words, {"relation": "at most", "num_words": 100})) == ""
    assert of((words, {"relation": "less than", "num_words": 0})) != ""
    a = (letter, {"letter": "a", "let_relation": "more than", "let_frequency": 5})
    assert of(a, (letter, {"letter": "b", "let_relation": "at most", "let_frequency": 5})) == ""
    assert of(a, (letter, {"letter": "A", "let_relation": "at most", "let_frequency": 5})) != ""
    sea = ("keywords:existence", {"keywords": ["Sea"]})
    assert of(sea, ("keywords:forbidden_words", {"forbidden_words": ["sea"]})) != ""


def test_verdicts_of_responses(grading: Grading) -> None:
    both = key(
        ("punctuation:no_comma", {}),
        ("length_constraints:number_words", {"relation": "at least", "num_words": 3}),
    )
    kept = grading("instructions", both, "<think>Well, no comma, then.</think>\nOne two three.<|im_end|>, x")
    assert (kept.verdict, kept.extracted) == ("correct", "One two three.")
    one_broken = grading("instructions", both, "One two")
    assert (one_broken.verdict, one_broken.reason) == (
        "wrong", "length_constraints:number_words: 2 words, at least 3 wanted",
    )  # fmt: skip
    assert grading("instructions", both, "<think>never").verdict == "no_answer"
    assert grading("instructions", both, "One two three", finish_reason="length").verdict == "no_answer"
    german = key(("language:response_language", {"language": "de"}), ("punctuation:no_comma", {}))
    assert grading("instructions", german, "42").verdict == "ungraded"
    assert grading("instructions", german, "4, 2").verdict == "wrong"


def test_introductions_are_forgiven_only_by_the_setting(grading: Grading) -> None:
    quoted = key(("startend:quotation", {}))
    response = 'Sure, here it is:\n"Hello."'
    assert grading("instructions", quoted, response).verdict == "wrong"
    assert grading("instructions", quoted, response, instructions="loose").verdict == "correct"


@pytest.mark.parametrize(
    "piece", ["[", "*", "<<", "* ", "a.", ". ", "\nx", "P.", "```\n", "“", "Section 1 ", "ab "]
)
def test_long_texts_are_bounded(grading: Grading, piece: str) -> None:
    everything = key(*((name, given) for name, given, *_ in CASES[2:]))
    loose = key(*((name, given) for name, given, *_ in reversed(CASES)))
    started = time.process_time()
    for constraints in (everything, loose):
        grade = grading(
            "instructions", constraints, piece * (40_000 // len(piece)), seconds=2, instructions="loose"
        )
        assert grade.verdict in ("wrong", "ungraded")
        assert "failed" not in grade.reason, grade
    assert time.process_time() - started < 3
