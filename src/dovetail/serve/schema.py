"""What comes in and what goes out as JSON; FastAPI makes the checks and the OpenAPI description of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

# One complaint about a list is enough, however long it is.
Words = Annotated[list[str], Field(fail_fast=True)]
Probability = Annotated[float, Field(ge=0, le=1)]
Position = Annotated[int, Field(ge=0)]
Link = Annotated[list[Position], Field(min_length=2, max_length=2)]

Side = Literal["source", "target"]

SHOWN = 60  # characters of a caller's own words that a complaint repeats


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, values: Any) -> Any:
        """One complaint about strange names, too: pydantic itself would make one for each."""
        for name in values if isinstance(values, dict) else ():
            if name not in cls.model_fields:
                raise PydanticCustomError("ours", "no field {name}", {"name": repr(name[:SHOWN])})
        return values


class Sentences(Request):
    source: str | Words = Field(description="Text, which is cut as the tokenizer says, or a list of words.")
    target: str | Words = Field(description="In the same form as the source.")

    @model_validator(mode="after")
    def _alike(self) -> Sentences:
        if isinstance(self.source, str) != isinstance(self.target, str):
            raise PydanticCustomError("ours", "one side is a string and the other a list of words")
        return self


class Options(Request):
    models: Words | None = Field(None, description="Which models; all of them by default.")
    posteriors: bool = Field(False, description="Send every cell's probability, too.")
    tokenizer: str | None = Field(None, max_length=SHOWN, description="How text is cut; by default as in training.")
    lower: bool | None = Field(None, description="Look words up in lower case; by default as in training.")


class Pair(Sentences, Options):
    """One sentence pair."""


class Batch(Options):
    """Several sentence pairs, with the same options for all of them."""

    pairs: Annotated[list[Sentences], Field(fail_fast=True)] = Field(description="In any number, an empty list too.")


class Answer(BaseModel):
    """What one model says of one pair."""

    name: str
    source: list[str] = Field(description="The words, as they stand in the text.")
    target: list[str]
    links: list[Link] = Field(description="[i, j], counted from 0, source first.")
    probabilities: list[Probability] = Field(description="One for each link.")
    unseen_source: list[Position] = Field(description="Places of words that the model has never seen.")
    unseen_target: list[Position]
    score_forward: float | None = Field(None, description="Log-probability; of models that have one.")
    score_reverse: float | None = None
    certified: bool = Field(False, description="Of exact decoders: the alignment is proved optimal.")
    score: float | None = Field(None, description="Of exact decoders.")
    bound: float | None = Field(None, description="Of exact decoders: no alignment scores more.")
    posteriors: list[list[Probability]] = Field([], description="Row i, column j; if asked for.")


class Answers(BaseModel):
    """One answer for each model, in the order in which they were asked for."""

    models: list[Answer]


class BatchAnswers(BaseModel):
    """For each pair, in order, what /align would have answered."""

    answers: list[Answers]


class Model(BaseModel):
    name: str
    recipe: str
    tokenizer: str = Field(description="How its training text was cut.")
    lower: bool = Field(description="Whether it ignores case.")


class Models(BaseModel):
    models: list[Model]


class Word(BaseModel):
    side: Side
    word: str
    count: int = Field(description="How often it stands in the text.")


class WordList(BaseModel):
    """The most frequent first, those that are spelled as asked before those that only begin so."""

    words: list[Word]


class Translation(BaseModel):
    word: str
    probability: Probability = Field(description="Of this word, given the one that was asked for.")
    reverse: Probability = Field(description="Of the word that was asked for, given this one.")
    count: int = Field(description="Links between the two.")
    expected: float = Field(description="The sum of their probabilities.")


class Translations(Word):
    """What a word is linked to, the most probable first."""

    unlinked: int = Field(description="Places of the word without any link.")
    number: int = Field(description="How many translations there are, of which some may not be listed.")
    translations: list[Translation]


class Place(BaseModel):
    """A pair in which two words are linked; `words` are those of the side that was asked for."""

    pair: int = Field(description="Its number, from 1.")
    words: list[str]
    others: list[str]
    here: list[Position] = Field(description="Which of `words`.")
    there: list[Position] = Field(description="Which of `others`.")


class Places(BaseModel):
    hits: list[Place]
    next: int | None = Field(description="`start` of the places behind these; null at the end.")


class TextPair(BaseModel):
    """A pair of the text."""

    number: int
    source: list[str]
    target: list[str]
    links: list[Link]
    probabilities: list[Probability] = Field(description="One for each link; 1 where the links have none.")


class Health(BaseModel):
    status: str
    version: str


class Problem(BaseModel):
    """What is wrong, and what to do about it."""

    error: str
    remedy: str
