"""Tokenizers: spans that lose no character, and the cuts that a reader of each script expects."""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.bitext import tokenize
from dovetail.bitext.tokenize import tokenizers, whitespace_owner
from dovetail.errors import InputError

ASCII_WHITESPACE = " \t\n\r\v\f"

# Any text, and text made of pieces that meet in awkward ways.
pieces = [
    *"aéßяאبकกລកက日本のカ한'’\"“.,;:!?-()@/&#%_0123٣๓",
    *ASCII_WHITESPACE,
    *"\u00a0\u3000\u2028\x85\x1c\0\u200b\u200c\u200d\u200e\u00ad\ufeff\u0301\u064e\u093f\u0e31\u1039\u103a\ufe0f\U000e0100",
    *"😀👩🇫🏽𝒳𑄃𠀀",
    *(
        "n't",
        "'s",
        "l'",
        "qu'",
        "http://",
        "www.",
        "a@b.c",
        "&amp;",
        "U.S.",
        "Mr.",
        "...",
        "--",
        "それぞれ",
        "人々",
        "ทร์",
        "\ud800",
    ),
]
texts = st.one_of(st.text(), st.lists(st.sampled_from(pieces)).map("".join))


def cut(text: str, tokenizer: str = "unicode") -> list[str]:
    return tokenizers[tokenizer].tokens(text)


def is_whitespace(character: str) -> bool:
    """As the `unicode` tokenizer sees it."""
    return character.isspace() or character == "\u200b"


# What all have in common


@pytest.mark.parametrize("name", ["whitespace", "unicode"])
@given(text=texts)
def test_spans_are_sorted_disjoint_and_never_empty(name, text):
    spans = tokenizers[name].spans(text)
    assert all(start < end for start, end in spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert not spans or (spans[0][0] >= 0 and spans[-1][1] <= len(text))


@pytest.mark.parametrize("name", ["whitespace", "unicode"])
@given(text=texts)
def test_tokens_are_the_text_of_the_spans(name, text):
    assert tokenizers[name].tokens(text) == [text[start:end] for start, end in tokenizers[name].spans(text)]


@pytest.mark.parametrize("name", ["whitespace", "unicode"])
def test_a_line_of_20000_tokens_is_cut_like_a_short_one(name):
    words = [f"word{k}" for k in range(20_000)]
    assert cut(" ".join(words), name) == words


@pytest.mark.parametrize("name", ["whitespace", "unicode"])
@pytest.mark.parametrize("text", ["", " ", " \t\r\n\v\f "])
def test_a_line_without_text_has_no_tokens(name, text):
    assert tokenizers[name].spans(text) == []


# Whitespace


@given(texts)
def test_whitespace_cuts_as_bytes_split_does(text):
    assert cut(text, "whitespace") == [
        token.decode("utf-8", "surrogatepass") for token in text.encode("utf-8", "surrogatepass").split()
    ]


def test_only_ascii_whitespace_ends_a_token():
    token = "10\u00a0000\u3000km\u2028x\x85y\x1cz\ufeff"
    assert cut(f"\t{token} \v{token}\f\r\n", "whitespace") == [token, token]


# Owners


@given(texts)
def test_the_owner_of_a_token_is_the_whitespace_token_around_it(text):
    outer = tokenizers["whitespace"].spans(text)
    spans = tokenizers["unicode"].spans(text)
    owners = whitespace_owner(text, spans)
    assert len(owners) == len(spans)
    for (start, end), owner in zip(spans, owners, strict=True):
        assert outer[owner][0] <= start
        assert end <= outer[owner][1]


@given(texts)
def test_whitespace_tokens_own_themselves(text):
    spans = tokenizers["whitespace"].spans(text)
    assert whitespace_owner(text, spans) == list(range(len(spans)))


# Unicode


@given(texts)
def test_every_character_but_whitespace_is_in_one_token_and_whitespace_in_none(text):
    covered = {k for start, end in tokenizers["unicode"].spans(text) for k in range(start, end)}
    assert covered == {k for k, character in enumerate(text) if not is_whitespace(character)}


@given(texts)
def test_marks_stay_with_the_character_before_them(text):
    for start, _ in tokenizers["unicode"].spans(text):
        if start and unicodedata.category(text[start]) in ("Mn", "Mc", "Me"):
            assert is_whitespace(text[start - 1])


@cache
def pattern_without_shortcuts() -> re.Pattern[str]:
    pattern = tokenize._pattern().pattern
    shortcuts = "|".join(tokenize._ALTERNATIVES[:2]) + "|"
    assert shortcuts in pattern
    return re.compile(pattern.replace(shortcuts, "", 1), tokenize._pattern().flags)


@given(texts)
@example("U.S.) n't, l'eau; a@b.c! www.x, http://a,b (Mr.) 1,5 צה\"ל")
def test_the_shortcuts_cut_nothing_in_another_way(text):
    assert cut(text) == pattern_without_shortcuts().findall(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, world!", "Hello | , | world | !"),
        ('He said: "Go (now)."', 'He | said | : | " | Go | ( | now | ) | . | "'),
        ("wait... what?! -- no!!", "wait | ... | what | ? | ! | -- | no | !!"),
        ("well-known snake_case", "well | - | known | snake_case"),
        ("«Oui»、「はい」。", "« | Oui | » | 、 | 「 | は | い | 」 | 。"),
        ("¿Qué? 50% $5 A&B", "¿ | Qué | ? | 50 | % | $ | 5 | A | & | B"),
        ("&amp; &#233; &quot;x&quot; a & b;", "&amp; | &#233; | &quot; | x | &quot; | a | & | b | ;"),
    ],
)
def test_punctuation_comes_apart(text, tokens):
    assert cut(text) == tokens.split(" | ")


@pytest.mark.parametrize(
    "token",
    [
        "3.14",
        "1,000",
        "1,234,567.89",
        "12:30",
        "31/12/1999",
        "1.234,5",
        "v1.2.3",
        "3rd",
        "1960s",
        "10km",
        "٣٫١٤",
        "½",
        "m²",
        "๑๒๓",
    ],
)
def test_numbers_stay_whole(token):
    assert cut(f"({token}), {token}. {token}!") == ["(", token, ")", ",", token, ".", token, "!"]


@pytest.mark.parametrize("token", ["U.S.", "U.S.A.", "e.g.", "i.e.", "p.m.", "z.B.", "Mr.", "Dr.", "т.е."])
def test_abbreviations_keep_their_points(token):
    assert cut(f"the {token} thing") == ["the", token, "thing"]


def test_a_point_that_ends_a_sentence_is_cut_off():
    assert cut("It ends. So I. No") == ["It", "ends", ".", "So", "I", ".", "No"]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("don't DON'T can’t won't", "do n't DO N'T ca n’t wo n't"),
        ("John's it’s I'm they're we've he'd she'll", "John 's it ’s I 'm they 're we 've he 'd she 'll"),
        ("n't 's", "n't 's"),
        ("dogs' 'quoted' 'twas", "dogs ' ' quoted ' ' twas"),
        ("l'eau d’accord qu'il n'est j'ai c'est", "l' eau d’ accord qu' il n' est j' ai c' est"),
        ("L'été jusqu'à lorsqu'on puisqu'il", "L' été jusqu' à lorsqu' on puisqu' il"),
        ("d'aujourd'hui quelqu'un", "d' aujourd'hui quelqu'un"),
        ("dell'arte un'altra all'aria", "dell' arte un' altra all' aria"),
        ("O'Brien's o'clock rock'n'roll п'ять об’єкт", "O'Brien 's o'clock rock'n'roll п'ять об’єкт"),
        ("l'U.S.", "l' U.S."),
    ],
)
def test_apostrophes_go_where_the_languages_want_them(text, tokens):
    assert cut(text) == tokens.split(" ")


@pytest.mark.parametrize(
    "address",
    [
        "http://www.example.com/a_(b)?x=1&y=2#z",
        "https://example.org/",
        "HTTPS://EXAMPLE.ORG/a.b-c",
        "ftp://x.y",
        "www.example.de",
        "first.last+tag@mail.example.co.uk",
    ],
)
def test_addresses_stay_whole_without_the_punctuation_behind(address):
    assert cut(f"See {address}, ({address}).") == ["See", address, ",", "(", address, ")", "."]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("e\u0301te\u0301 nin\u0303o", "e\u0301te\u0301 nin\u0303o"),
        ("السَّلامُ عَلَيْكُم، كيف؟", "السَّلامُ عَلَيْكُم ، كيف ؟"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("שָׁלוֹם צה\"ל צה״ל ג'ירפה", "שָׁלוֹם צה\"ל צה״ל ג'ירפה"),
        ("हिन्दी में लिखा है।", "हिन्दी में लिखा है ।"),
        ("தமிழ் ქართული አማርኛ ελληνικά", "தமிழ் ქართული አማርኛ ελληνικά"),
        ("안녕하세요 세계!", "안녕하세요 세계 !"),
        ("𑄌𑄋𑄴𑄟𑄳𑄦 𞤀𞤣𞤤𞤢𞤥", "𑄌𑄋𑄴𑄟𑄳𑄦 𞤀𞤣𞤤𞤢𞤥"),
        ("soft\u00adhyphen", "soft\u00adhyphen"),
    ],
)
def test_words_of_spaced_scripts_stay_whole_with_their_marks(text, tokens):
    assert cut(text) == tokens.split(" ")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("我喜欢吃苹果。", "我 喜 欢 吃 苹 果 。"),
        ("2015年に東京タワーで", "2015 年 に 東 京 タワー で"),
        ("それぞれの人々ですから", "それぞれ の 人々 です から"),
        ("きょうはｶﾞｽ", "きょ う は ｶﾞｽ"),
        ("漢\U000e0100字𠀀", "漢\U000e0100 字 𠀀"),
        ("Windowsを使う", "Windows を 使 う"),
        ("ฉันรักภาษาไทย", "ฉั น รั ก ภา ษา ไท ย"),
        ("วันจันทร์ที่๑๒", "วั น จั น ทร์ ที่ ๑๒"),
        ("ສະບາຍດີ", "ສະ ບາ ຍ ດີ"),
        ("សួស្តី\u200bពិភពលោក", "សួ ស្តី ពិ ភ ព លោ ក"),
        ("မင်္ဂလာပါ ကျောင်း", "မင်္ဂ လာ ပါ ကျောင်း"),
    ],
)
def test_scripts_without_spaces_are_cut_small(text, tokens):
    assert cut(text) == tokens.split(" ")


def test_emoji_stay_whole_with_all_that_makes_them():
    assert cut("🇫🇷🇩🇪👩\u200d👩\u200d👧👍🏽1\ufe0f\u20e3☺\ufe0f") == [
        "🇫🇷",
        "🇩🇪",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "1\ufe0f\u20e3",
        "☺\ufe0f",
    ]


def test_control_characters_are_tokens_and_break_nothing():
    assert cut("a\0b \x01") == ["a", "\0", "b", "\x01"]


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a'",
        "'",
        "n't",
        "1,",
        "&a",
        "&#1",
        "http://",
        "www.",
        "a@",
        "@",
        ".",
        "-",
        "a-",
        "\u0301",
        "a\u0301",
        "の",
        "ก",
        "က္",
        "\u200d",
        '"א',
    ],
)
def test_no_repetition_takes_more_than_linear_time(piece):
    start = time.process_time()
    cut(piece * (100_000 // len(piece)))
    assert time.process_time() - start < 2.0


def test_raw_text_is_cut_at_more_than_a_million_characters_a_second():
    line = (
        "The committee's report (1,000 pages) didn't mention l'affaire; see www.example.com, however — it's no secret."
    )
    cut(line)
    start = time.process_time()
    for _ in range(20_000):
        tokenizers["unicode"].spans(line)
    assert 20_000 * len(line) / (time.process_time() - start) > 1_000_000


# ICU


def test_without_pyicu_its_tokenizer_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "icu", None)
    with pytest.raises(InputError, match="pip install PyICU"):
        tokenizers["icu"].tokens("a")


class TestIcu:
    @pytest.fixture(autouse=True)
    def _needs_icu(self):
        pytest.importorskip("icu", reason="needs PyICU")

    @given(text=texts.filter(lambda text: "\ud800" not in text))
    def test_spans_are_sorted_disjoint_and_cover_what_is_not_whitespace(self, text):
        spans = tokenizers["icu"].spans(text)
        assert all(start < end for start, end in spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        covered = {k for start, end in spans for k in range(start, end)}
        assert covered >= {k for k, character in enumerate(text) if not character.isspace()}

    @given(text=texts.filter(lambda text: "\ud800" not in text))
    def test_no_token_holds_ascii_whitespace(self, text):
        assert not any(set(token) & set(ASCII_WHITESPACE) for token in cut(text, "icu"))

    def test_offsets_count_characters_not_utf16_units(self):
        assert cut("𝒳 a👩\u200d👩\u200d👧b 🇫🇷", "icu") == ["𝒳", "a", "👩\u200d👩\u200d👧", "b", "🇫🇷"]

    def test_dictionaries_cut_scripts_without_spaces(self):
        assert cut("ฉันรักภาษาไทย", "icu") == ["ฉัน", "รัก", "ภาษา", "ไทย"]
        assert cut("日本語の文章", "icu") == ["日本語", "の", "文章"]


def test_every_tokenizer_is_described():
    assert list(tokenizers) == ["whitespace", "unicode", "icu"]
    assert all(tokenizers.descriptions[name] for name in tokenizers)
