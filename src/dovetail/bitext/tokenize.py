"""From a line of text to the character spans of its words.

Every tokenizer gives spans into the raw text, so that a link can always be traced back to its characters.
Spans are sorted, disjoint and never empty, and none reaches across ASCII whitespace.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
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


def tokenizer_pair(names: str) -> tuple[str, str]:
    """The tokenizers of source and target: one name for both, or two with a comma between; InputError for others.

    >>> tokenizer_pair("unicode"), tokenizer_pair("unicode,icu")
    (('unicode', 'unicode'), ('unicode', 'icu'))
    """
    source, comma, target = str.partition(names, ",")  # TypeError for what is no name at all
    pair = source, target if comma else source
    for name in pair:
        tokenizers[name]
    return pair


# Not `\S`: a no-break space or U+3000 stays inside its token, as in every tool that splits lines at spaces.
_BETWEEN_SPACES = re.compile(r"[^ \t\n\r\v\f]+")


class WhitespaceTokenizer:
    """For text that is tokenised already: cuts at ASCII whitespace and nowhere else."""

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in _BETWEEN_SPACES.finditer(text)]

    def tokens(self, text: str) -> list[str]:
        return _BETWEEN_SPACES.findall(text)


tokenizers.add("whitespace", WhitespaceTokenizer(), "tokenised text: cuts at ASCII whitespace and nowhere else")


def whitespace_owner(text: str, spans: Sequence[Span]) -> list[int]:
    """For each span the index of the whitespace token that holds it, so that links can be told in those.

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
    spaces: Han by character, Katakana in runs, Hiragana by a few frequent words and else by character; Thai, Lao,
    Khmer and Burmese by consonant with its vowels and signs.

    Whitespace is Unicode's and the zero-width space, which some of these scripts set between words; every other
    character is in some token.
    """

    def spans(self, text: str) -> list[Span]:
        return [match.span() for match in _pattern().finditer(text)]

    def tokens(self, text: str) -> list[str]:
        return _pattern().findall(text)


tokenizers.add("unicode", UnicodeTokenizer(), "raw text in any script: words, numbers and punctuation apart")


class IcuTokenizer:
    """For raw text, by ICU's word boundaries, with dictionaries for most scripts that are written without spaces."""

    def spans(self, text: str) -> list[Span]:
        icu = _icu()
        breaks = icu.BreakIterator.createWordInstance(icu.Locale.getRoot())
        breaks.setText(text)
        spans = []
        start = 0
        for end in _characters(text, breaks):
            # Whitespace is a piece too, and a combining mark behind it belongs to that piece.
            length = len(text[start:end].lstrip())
            if length:
                spans.append((end - length, end))
            start = end
        return spans

    def tokens(self, text: str) -> list[str]:
        return [text[start:end] for start, end in self.spans(text)]


tokenizers.add("icu", IcuTokenizer(), "raw text by ICU's dictionaries and word boundaries; needs PyICU")


def _characters(text: str, offsets: Iterable[int]) -> Iterable[int]:
    """Offsets in characters for ICU's, which count UTF-16 units."""
    if not text or max(text) <= "\uffff":
        return offsets
    starts: list[int] = []
    for n, character in enumerate(text):
        starts += [n] if character <= "\uffff" else [n, n]
    starts.append(len(text))
    return [starts[offset] for offset in offsets]


def _icu() -> Any:
    try:
        import icu
    except ImportError as error:
        raise InputError(
            "the tokenizer icu needs PyICU, which is not installed",
            remedy="Install ICU's development files and pkg-config, then: python -m pip install PyICU."
            " Or take the tokenizer unicode, which needs nothing.",
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
SPACELESS = _HAN + _KATAKANA + _HIRAGANA + _THAI_LAO + _KHMER + _BURMESE

_LETTER = rf"[^\W\d_{SPACELESS}]"
_WORD = rf"[^\W{SPACELESS}]"  # letters, digits, underscore

# Cut off from the word before: 's 're 've 'll 'd 'm.
_CLITIC = r"(?:[sSdDmM]|[rR][eE]|[vV][eE]|[lL][lL])(?!\w)"

# Cut off from the word behind: French and Catalan l' d' qu' jusqu' and the like, Italian dell' un' and the like.
_ELIDED = (
    "(?:[cdjlmnstCDJLMNST]|[qQ]u|QU|(?:[jJ]us|[lL]ors|[pP]uis|[qQ]uoi)qu"
    "|(?:[aA]|[dD]a|[dD]e|[nN]e|[sS]u|[qQ]ue|[bB]e)ll|[uU]n|[sS]ant|[dD]ov|[aA]nch)['’]"
)

# Words of Hiragana that hardly ever occur inside another one; the rest is cut by character.
_JAPANESE = (
    "それぞれ|ほとんど|すなわち|あるいは|もしくは|ください|ながら|ところ|そして|しかし|ただし|さらに"
    "|つまり|および|または|すべて|でした|ました|ません|わたし|あなた|から|まで|より|など|だけ|ほど|のみ"
    "|こと|もの|ため|よう|これ|それ|あれ|どれ|この|その|あの|どの|ここ|そこ|どこ|また|なお|する|です|ます"
)

# Letters of Latin, Greek, Cyrillic, Hebrew, Arabic and Hangul, in ranges that hold nothing else.
_COMMON = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u03b1-\u03e1\u0400-\u0481\u048a-\u052f"
    "\u05d0-\u05ea\u0620-\u064a\uac00-\ud7a3"
)

_EMOJI = "[\u203c-\u3299\U0001f000-\U0001faff]"

# The first alternative that fits is taken.
_ALTERNATIVES = [
    # Shortcuts: what the alternatives below would cut in the same way, but more slowly.
    rf"[{_COMMON}]+(?=[\s,;!?)]|\Z)",
    r"[,;()]|\.(?!\.)",
    # Han, with its repetition mark; Katakana; Hiragana, a small letter with the one before it.
    f"[{_HAN}]\u3005*",
    f"[{_KATAKANA}]+",
    f"{_JAPANESE}|[{_HIRAGANA}][\u3041\u3043\u3045\u3047\u3049\u3083\u3085\u3087\u30fc]*",
    # Addresses.  What may stand before an @ is bounded, or a long row of dots would take quadratic time.
    r"(?:[hH][tT][tT][pP][sS]?://|[fF][tT][pP]://|[wW][wW][wW]\.)"
    r"[A-Za-z0-9\u00c0-\u04ff\-._~:/?\#\[\]@!$&'()*+,;=%]*[A-Za-z0-9\u00c0-\u04ff/\#=&_~$%+\-]",
    r"[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}@[A-Za-z0-9\-]{1,63}(?:\.[A-Za-z0-9\-]{1,63})+",
    # &amp; and the like
    r"&(?:\#[0-9]{1,7}|\#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});",
    # Abbreviations: U.S., e.g., titles.
    rf"{_LETTER}\.(?:{_LETTER}\.)*{_LETTER}\.?(?!\w)|(?:Mrs?|Ms|Dr|Prof|St|vs)\.",
    rf"[nN]['’][tT](?!\w)|['’]{_CLITIC}|{_ELIDED}(?=[^\W_])",
    # Words and numbers with their marks and inner separators; `n't` is left for the alternative above.
    rf"""{_WORD}+(?:
        EXTENDER+{_WORD}*
      | (?<=\d)[.,:/\u066b\u066c\uff0e](?=\d){_WORD}+
      | ['’](?=[^\W\d_])(?!{_CLITIC}|[tT](?!\w)){_WORD}+
      | (?<=[\u05d0-\u05ea])["\u05f3\u05f4](?=[\u05d0-\u05ea]){_WORD}+
    )*(?!(?<=[nN])['’][tT](?!\w))""",
    # Thai and Lao: vowel before, consonant, marks, vowels behind, silent consonants.
    r"""[\u0e40-\u0e44\u0ec0-\u0ec4]?[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]
        [\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece]*
        [\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd]*(?:[\u0e01-\u0e2e][\u0e34\u0e38]?\u0e4c)*""",
    # Khmer: consonant, vowels and signs, further consonants below it.
    r"[\u1780-\u17b3][\u17b4-\u17d1\u17dd]*(?:\u17d2[\u1780-\u17b3][\u17b4-\u17d1\u17dd]*)*",
    # Burmese: the same, and final consonants, which the sign asat marks.
    r"""[\u1000-\u1020](?:[\u102b-\u1038\u103a-\u103e]|\u1039[\u1000-\u1020]
        |[\u1000-\u1020](?=\u1037?[\u1039\u103a]))*""",
    # Runs of one sign, flags, joined emoji; at last any character.
    r"\.{2,}|-{2,}|!{2,}|\?{2,}|\*{2,}|={2,}|~{2,}|\#{2,}|…{2,}|–{2,}|—{2,}|``|''",
    "[\U0001f1e6-\U0001f1ff]{2}",
    f"{_EMOJI}(?:[\ufe0f\U0001f3fb-\U0001f3ff]*\u200d{_EMOJI})*",
    ".",
]


@cache
def _pattern() -> re.Pattern[str]:
    """Made when first asked for: it takes some 30 ms to look through Unicode for what extends a character."""
    alternatives = "|".join(_ALTERNATIVES).replace("EXTENDER", _extenders())
    return re.compile(rf"(?![\s\u200b])(?:{alternatives}){_extenders()}*", re.VERBOSE | re.DOTALL)


@cache
def _extenders() -> str:
    """A character class of all that belongs to the character before it.

    Marks, invisible signs (joiners, directions; not the zero-width space), the skin colours of emoji, tags.
    """
    ranges: list[list[int]] = []
    for code in range(0x20000):
        category = unicodedata.category(chr(code))
        if category[0] == "M" or (category == "Cf" and code != 0x200B):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    ranges += [[0x1F3FB, 0x1F3FF], [0xE0000, 0xE01FF]]
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
