"""The language of a text, told by its script and, where languages share one, by letters and stop words of their own."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

__all__ = ["LANGUAGES", "language_of"]

# Letters of each script, as ranges of a regular expression.
_BLOCKS: tuple[tuple[str, str], ...] = (
    ("latin", "A-Za-z\u00c0-\u024f\u1e00-\u1eff"),
    ("cyrillic", "\u0400-\u052f"),
    ("greek", "\u0370-\u03ff"),
    ("hebrew", "\u0590-\u05ff"),
    ("arabic", "\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff"),
    ("devanagari", "\u0900-\u097f"),
    ("bengali", "\u0980-\u09ff"),
    ("gurmukhi", "\u0a00-\u0a7f"),
    ("gujarati", "\u0a80-\u0aff"),
    ("tamil", "\u0b80-\u0bff"),
    ("telugu", "\u0c00-\u0c7f"),
    ("kannada", "\u0c80-\u0cff"),
    ("malayalam", "\u0d00-\u0d7f"),
    ("thai", "\u0e00-\u0e7f"),
    ("hangul", "\uac00-\ud7a3\u1100-\u11ff"),
    ("kana", "\u3041-\u30ff"),
    ("han", "\u3400-\u4dbf\u4e00-\u9fff"),
)
_ANY_SCRIPT = re.compile("|".join(f"(?P<{name}>[{block}])" for name, block in _BLOCKS))
# One of these says as much as a syllable or a word.
_WEIGHT = {"han": 3, "kana": 2, "hangul": 3}
_OF_ONE_LANGUAGE = {
    "greek": "el", "hebrew": "he", "bengali": "bn", "gurmukhi": "pa", "gujarati": "gu", "tamil": "ta",
    "telugu": "te", "kannada": "kn", "malayalam": "ml", "thai": "th", "hangul": "ko",
}  # fmt: skip
_STOP_WORDS: dict[str, dict[str, str]] = {
    "latin": {
        "en": "the of and to in is that it was for on are as with his they at be this from have or by one had not "
        "but what all were when we there can an your which their said if will each about how up out them "
        "then she",
        "es": "el la los las de que y en un una es por con para no se lo como más pero sus le ya o este sí porque "
        "esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante del al su",
        "pt": "o a os as de que e em um uma é por com para não se mais como mas foi ao ele das tem à seu sua ou "
        "ser quando muito há nos já está eu também só pelo pela até isso ela entre era depois sem mesmo aos "
        "do da no na",
        "fr": "le la les de des et à un une est que qui dans en du pour pas au sur ne se ce il elle sont avec "
        "plus par je nous vous mais ou si leur y dont aux cette ces être comme été même tout son sa ses",
        "de": "der die das und in den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden "
        "aus er hat dass sie nach wird bei einer um am sind noch wie einem über so zum war haben nur oder "
        "aber vor zur ich",
        "it": "il la lo gli le di e che in un una è per non con si da come ma anche più del della dei delle al "
        "alla nel nella sono ha questo questa io se o quando dove chi perché molto suo sua essere ci tra",
        "nl": "de het een en van in is dat op te zijn met voor niet aan er ook als bij door naar om maar dan nog "
        "wel deze die wordt werd heeft hebben ze zij hij ik je uit over tot kan",
        "pl": "i w na z do się nie to że jest o jak po ale co tak za od czy przez dla są był jego jej ich może "
        "już tylko ten ta gdy być jako oraz lub który która które aby też bardzo",
        "fi": "ja on ei se että hän oli mutta en ovat ole kun niin kuin jos myös tai joka mitä hänen minä sinä me "
        "te he tämä siitä sen ne mukaan vain sekä voi nyt",
        "vi": "và của là có không được một những các cho trong với này đã để người khi từ về như ra tôi bạn thì "
        "cũng nhiều lại đến rất nhưng vào sẽ ở",
        "sw": "na ya wa kwa ni katika la za kuwa hii cha watu yake au kama pia lakini hiyo huo zaidi baada sana "
        "ambayo kila yao hivyo bila ili kutoka mtu",
        "tr": "ve bir bu için de da ile ne çok daha olarak gibi var kadar o en ama sonra ki değil mi her ben olan "
        "şey veya ancak çünkü",
        "id": "yang dan di dari untuk dengan ini itu pada adalah tidak dalam akan ke juga dapat oleh atau sebagai "
        "karena saya ada kita mereka lebih bisa",
        "sv": "och i att det som en på är av för med den till inte har de ett om var jag men sig så från vi kan "
        "när nu eller också hans hon han",
    },
    "devanagari": {
        "hi": "है के में की और को से का हैं पर यह कि एक नहीं भी इस था लिए हो जो कर ने तो या ही अपने साथ वह करने "
        "होता होती",
        "mr": "आहे आणि या च्या ते मध्ये हे आहेत एक होते नाही तर की ही साठी असे तो ती व त्या झाले करून मी आपण "
        "म्हणून",
        "ne": "छ र को मा हो यो पनि छन् गर्न लागि एक भने तर थियो त्यो गरेको भएको हुन्छ बाट म यस हुन् लाई सबै छैन",
    },
    "cyrillic": {
        "ru": "и в не на что с он как это по но из у за от так все для же вы бы то мы или был была они его если "
        "уже когда чтобы есть я ее только при очень",
        "uk": "і в не на що з він як це по але у та за від так всі для ж ви б то ми або був була вони його якщо "
        "вже коли щоб є я її тільки при дуже",
        "bg": "и в не на че с той като това по но от у за така всички да се са ви би ние или беше те му ако вече "
        "когато е аз само при много са който",
    },
    "arabic": {
        "ar": "في من على إلى عن أن هذا هذه التي الذي ما لا هو هي كان كانت مع كل أو و ثم قد لم بين ذلك بعد إن كما",
        "fa": "و در به از که این را با است برای آن یک خود تا کرد بر هم نیز شده می شود ها اما ما آنها بود دارد",
        "ur": "اور کے میں ہے کی سے کو کا یہ پر نے ہیں کہ ایک اس بھی تھا جو ہو نہیں لیے کر تو ان گیا",
    },
}  # fmt: skip
# Letters that only one of the languages of a script writes.
_OWN_LETTERS = {
    "ru": "ыэё", "uk": "іїєґ", "fa": "پچژ", "ur": "ٹڈڑےںہھ", "ar": "ةكيى",
    "vi": "ơưăđạảấầẩẫậắằẳẵặẹẻẽếềểễệọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ",
    "pl": "łśżźćń", "de": "ß", "es": "ñ¿¡", "pt": "ãõ", "tr": "ğış", "mr": "ळ",
}  # fmt: skip
_OTHERS = ("ja", "zh")
LANGUAGES = frozenset(
    [*_OF_ONE_LANGUAGE.values(), *_OTHERS, *(name for group in _STOP_WORDS.values() for name in group)]
)


def language_of(text: str) -> str | None:
    """Language of a text as its ISO 639-1 code; None when the text does not tell it.

    The script with most letters decides; where several languages write it, the language with most stop words and
    letters of its own does, and none does when two have equally many.
    """
    scripts: Counter[str] = Counter()
    for letter in _ANY_SCRIPT.finditer(text):
        scripts[letter.lastgroup or ""] += _WEIGHT.get(letter.lastgroup or "", 1)
    if not scripts:
        return None
    east = scripts["han"] + scripts["kana"]
    ranked = Counter({name: count for name, count in scripts.items() if name not in ("han", "kana")})
    if east:
        ranked["east"] = east
    script = min(ranked, key=lambda name: (-ranked[name], name))
    if script == "east":
        # Japanese writes its endings in kana; Chinese quotes kana now and then.
        return "ja" if scripts["kana"] > 0.1 * east else "zh"
    if script in _OF_ONE_LANGUAGE:
        return _OF_ONE_LANGUAGE[script]
    return _by_words(script, text)


def _by_words(script: str, text: str) -> str | None:
    # Combining signs of Indic scripts are no word characters of the regular expressions.
    lowered = unicodedata.normalize("NFC", text).casefold()
    words = Counter(re.findall(r"[^\s\d.,;:!?()\[\]\"'«»“”„…।،؛؟/*_#<>-]+", lowered))
    scores = {}
    for name in _STOP_WORDS[script]:
        stop_words = _stop_words(script, name)
        found = sum(count for word, count in words.items() if word in stop_words)
        scores[name] = found + sum(lowered.count(letter) for letter in _OWN_LETTERS.get(name, ""))
    ranked = sorted(scores, key=lambda name: (-scores[name], name))
    best, second = ranked[0], ranked[1]
    return best if scores[best] > scores[second] else None


@cache
def _stop_words(script: str, name: str) -> frozenset[str]:
    return frozenset(_STOP_WORDS[script][name].split())
