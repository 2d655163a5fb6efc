"""From a line of text to the character spans of its words.

Every tokenizer gives spans into the raw text, so that a link can always be traced back to the characters it is about.
Spans are sorted, disjoint and never empty, and none reaches across whitespace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Protocol

from dovetail.errors import InputError
from dovetail.registry import Registry

Span = tuple[int, int]


class Tokenizer(Protocol):
    def spans(self, text: str) -> list[Span]:
        """The (start, end) of each token in `text`, in characters."""

    def tokens(self, text: str) -> list[str]:
        """The tokens themselves: `text[start:end]` for each span."""


tokenizers: Registry[Tokenizer] = Registry("tokenizer")

# Not `\S`: a no-break space or U+3000 stays inside its token, as in every tool that splits lines at spaces.
_BETWEEN_SPACES = re.compile(r"[^ \t\n\r\v\f]+")


class WhitespaceTokenizer:
    """For text that is tokenised already: cuts at ASCII whitespace and nowhere else."""

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in _BETWEEN_SPACES.finditer(text)]

    def tokens(self, text: str) -> list[str]:
        return _BETWEEN_SPACES.findall(text)


tokenizers.add("whitespace", WhitespaceTokenizer(), "text that is tokenised already: cuts at ASCII whitespace only")


def whitespace_owner(text: str, spans: Sequence[Span]) -> list[int]:
    """For each span the index of the whitespace token that holds it: links over tokens become links over those.

    >>> whitespace_owner("Don't go!", [(0, 2), (2, 5), (6, 8), (8, 9)])
    [0, 0, 1, 1]
    """
    ends = [match.end() for match in _BETWEEN_SPACES.finditer(text)]
    owners = []
    owner = 0
    for start, _ in spans:
        while ends[owner] <= start:
            owner += 1
        owners.append(owner)
    return owners


class UnicodeTokenizer:
    """For raw text in any script: one regular expression, no model, no language to name.

    Words with their marks, numbers (3.14, 1,000), addresses and abbreviations (U.S.) stay whole; punctuation comes
    apart one by one, except for runs (..., --).  English clitics are cut off (do n't, John 's), elisions too
    (l' eau, dell' arte); other apostrophes within a word belong to it (aujourd'hui, O'Brien).  Scripts without
    spaces: Han by character; Katakana in runs; Hiragana by its frequent function words, else by character; Thai,
    Lao, Khmer and Burmese by a consonant with its vowels and signs.

    Whitespace here is all of Unicode's and the zero-width space, which some of these scripts set between words.
    """

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in _pattern().finditer(text)]

    def tokens(self, text: str) -> list[str]:
        return _pattern().findall(text)


tokenizers.add("unicode", UnicodeTokenizer(), "raw text in any script: words, numbers and punctuation apart")


class IcuTokenizer:
    """For raw text, by ICU's word boundaries: dictionaries for Chinese, Japanese, Thai, Lao, Khmer and Burmese."""

    def spans(self, text: str) -> list[Span]:
        icu = _icu()
        breaks = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
        breaks.setText(text)
        ends: Iterable[int] = breaks
        if text and max(text) > "\uffff":  # ICU counts UTF-16 units, Python characters
            character = []
            for k, letter in enumerate(text):
                character += [k] * (1 + (letter > "\uffff"))
            character.append(len(text))
            ends = [character[end] for end in breaks]
        spans = []
        start = 0
        for end in ends:
            # A piece may be whitespace, or whitespace that a combining mark has glued to itself.
            spans += [(start + a, start + b) for a, b in map(re.Match.span, re.finditer(r"\S+", text[start:end]))]
            start = end
        return spans

    def tokens(self, text: str) -> list[str]:
        return [text[start:end] for start, end in self.spans(text)]


tokenizers.add("icu", IcuTokenizer(), "raw text by ICU's dictionaries and word boundaries; needs PyICU")


def _icu() -> Any:
    try:
        import icu
    except ImportError as error:
        raise InputError(
            "the tokenizer icu needs PyICU, which is not installed", remedy="pip install dovetail-align[icu]"
        ) from error
    return icu


# The regular expression of the `unicode` tokenizer

# Letters and signs of scripts that are written without spaces: a run of them is not one word.  Their digits are.
_HAN = "\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HIRAGANA = "\u3041-\u3096\u309b-\u309f\U0001aff0-\U0001b16f"
_THAI_LAO = "\u0e01-\u0e4f\u0e5a-\u0ecf\u0eda-\u0eff"
_KHMER = "\u1780-\u17df"
_BURMESE = "\u1000-\u103f\u104a-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9ff\uaa60-\uaa7f"
_SPACELESS = _HAN + _KATAKANA + _HIRAGANA + _THAI_LAO + _KHMER + _BURMESE

_JAPANESE_FUNCTION_WORDS = (
    "から|まで|より|など|ため|こと|もの|ところ|これ|それ|この|その|として|について|において|によって|により|による|という|といった"
    "|である|であり|であった|です|でした|ます|ました|ません|ない|なかった|した|して|する|され|された|される|いる|いた|ある|あり|あった"
    "|なる|なり|なった|また|および|しかし|ながら|だけ|ほど|では|には|とは|とも"
)


def _extenders(last: int) -> str:
    """The inside of a character class of what belongs to the character before it, up to code point `last`.

    Marks, and invisible signs (joiners, directions) except for the zero-width space.
    """
    codes = [
        code
        for code in range(last + 1)
        if (category := unicodedata.category(chr(code)))[0] == "M" or (category == "Cf" and code != 0x200B)
    ]
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)


@cache
def _pattern(astral: bool) -> re.Pattern[str]:
    E = f"[{_extenders(0xffff)}]"
    if astral:
        E = f"[{_extenders(0x1ffff)}\U0001f3fb-\U0001f3ff\U000e0000-\U000e01ff]"
    L = rf"[^\W{_SPACELESS}]"
    A = rf"[^\W\d_{_SPACELESS}]"
    clitic = "(?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL])"
    elided = (
        "[cdjlmnstCDJLMNST]|[Qq]u|QU|(?:[Jj]us|[Ll]ors|[Pp]uis|[Qq]uoi)qu|[Uu]n|[Ss]ant|"
        "(?:[Dd]e|[Nn]e|[Aa]|[Ss]u|[Dd]a|[Qq]ue|[Cc]o)ll?"
    )
    hebrew = "[\u05d0-\u05ea]"
    alternatives = [
        r"(?:[hH][tT][tT][pP][sS]?://|[fF][tT][pP]://|[wW][wW][wW]\.)[A-Za-z0-9\u00c0-\u04ff\-._~:/?\#\[\]@!$&'()*+,;=%]*[A-Za-z0-9\u00c0-\u04ff/\#=&_~$%+\-]",
        r"[A-Za-z0-9._%+\-]{1,64}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})+",
        r"&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});",
        rf"{A}\.(?:{A}\.)*{A}\.?(?!\w)",
        r"(?:Mr|Mrs|Ms|Dr|Prof|St|vs)\.",
        r"[nN]['’][tT](?!\w)",
        rf"(?:{elided})['’](?=[^\W_])",
        rf"['’]{clitic}(?!\w)",
        rf"""{L}+(?:
            {E}+{L}*
          | (?<=\d)[.,:/\u066b\u066c\uff0e](?=\d){L}+
          | ['’](?=[^\W\d_])(?!(?:{clitic}|[tT])(?!\w)){L}+
          | (?<={hebrew})["\u05f3\u05f4](?={hebrew}){L}+
        )*(?!(?<=[nN])['’][tT](?!\w))""",
        f"[{_KATAKANA}]+",
        _JAPANESE_FUNCTION_WORDS,
        r"[\u0e40-\u0e44\u0ec0-\u0ec4]?[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece]*[\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd]*(?:[\u0e01-\u0e2e][\u0e34\u0e38]?\u0e4c)*",
        r"[\u1780-\u17b3][\u17b4-\u17d1\u17dd]*(?:\u17d2[\u1780-\u17b3][\u17b4-\u17d1\u17dd]*)*",
        r"[\u1000-\u1020](?:[\u102b-\u1038\u103a-\u103e]|\u1039[\u1000-\u1020]|[\u1000-\u1020](?=\u1037?[\u1039\u103a]))*",
        r"\.{2,}|-{2,}|!{2,}|\?{2,}|\*{2,}|={2,}|~{2,}|\#{2,}|…{2,}|—{2,}|–{2,}|``|''",
        "[\U0001f1e6-\U0001f1ff]{2}",
        rf"[^\s\u200b](?:[\ufe0f\U0001f3fb-\U0001f3ff]*\u200d[^\s\u200b])*",
    ]
    return re.compile(f"(?:{'|'.join(alternatives)}){E}*", re.VERBOSE)
