"""What `dovetail serve` offers to programs, in the words of OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dovetail import __version__

if TYPE_CHECKING:
    from dovetail.report.live import Limits

SENTENCE = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
POSITIONS = {"type": "array", "items": {"type": "integer", "minimum": 0}}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}


def description(limits: Limits, models: Sequence[str]) -> dict[str, Any]:
    """The document at /openapi.json."""
    problems = {
        "400": "The request makes no sense; `error` says why.",
        "408": f"The request took more than {limits.seconds:g} seconds to arrive.",
        "413": f"More than {limits.request_bytes:,} bytes, or a sentence of more than {limits.words:,} words.",
        "415": "The content type is not application/json.",
        "421": "The server was addressed by a name that is not its own.",
        "500": "Something went wrong inside.",
        "503": f"No answer within {limits.seconds:g} seconds.",
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Dovetail",
            "version": __version__,
            "description": "Aligns the words of a sentence pair with the loaded models.",
        },
        "paths": {
            "/align": {
                "post": {
                    "operationId": "align",
                    "summary": "Align the words of one sentence pair.",
                    "requestBody": {"required": True, "content": _content("Pair")},
                    "responses": {
                        "200": {"description": "One answer for each model.", "content": _content("Answers")},
                        **{
                            status: {"description": text, "content": _content("Problem")}
                            for status, text in problems.items()
                        },
                    },
                }
            },
            "/models": {"get": _simple("listModels", "The loaded models and their recipes.", "Models")},
            "/health": {"get": _simple("health", "Whether the server is up, and its version.", "Health")},
        },
        "components": {"schemas": _schemas(models)},
    }


def _content(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}


def _simple(operation: str, summary: str, schema: str) -> dict[str, Any]:
    return {
        "operationId": operation,
        "summary": summary,
        "responses": {"200": {"description": summary, "content": _content(schema)}},
    }


def _object(properties: dict[str, Any], required: Sequence[str], closed: bool = False) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False} if closed else schema


def _schemas(models: Sequence[str]) -> dict[str, Any]:
    link = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2}
    score = {"type": ["number", "null"], "description": "log-probability"}
    words = {"type": "array", "items": {"type": "string"}}
    answer = {
        "name": {"type": "string"},
        "source": words,
        "target": words,
        "links": {"type": "array", "items": link, "description": "[i, j], counted from 0, source first"},
        "probabilities": {"type": "array", "items": PROBABILITY, "description": "one for each link"},
        "unseen_source": {**POSITIONS, "description": "words that the model has never seen"},
        "unseen_target": POSITIONS,
        "score_forward": score,
        "score_reverse": score,
        "certified": {"type": "boolean", "description": "of exact decoders: the alignment is proved optimal"},
        "score": score,
        "bound": score,
        "posteriors": {
            "type": "array",
            "items": {"type": "array", "items": PROBABILITY},
            "description": "row i, column j; if asked for",
        },
    }
    needed = ("name", "source", "target", "links", "probabilities", "unseen_source", "unseen_target")
    name_and_recipe = _object({"name": {"type": "string"}, "recipe": {"type": "string"}}, ("name", "recipe"))
    return {
        "Pair": _object(
            {
                "source": {**SENTENCE, "description": "Text, which is cut as the training text was, or words."},
                "target": {**SENTENCE, "description": "In the same form as the source."},
                "models": {
                    "type": "array",
                    "items": {"type": "string", "enum": list(models)},
                    "description": "Which models; all of them by default.",
                },
                "posteriors": {"type": "boolean", "default": False, "description": "Send every cell's probability."},
            },
            ("source", "target"),
            closed=True,
        ),
        "Answers": _object(
            {"models": {"type": "array", "items": {"$ref": "#/components/schemas/Answer"}}}, ("models",)
        ),
        "Answer": _object(answer, needed),
        "Models": _object({"models": {"type": "array", "items": name_and_recipe}}, ("models",)),
        "Health": _object({"status": {"type": "string"}, "version": {"type": "string"}}, ("status", "version")),
        "Problem": _object({"error": {"type": "string"}, "remedy": {"type": "string"}}, ("error", "remedy")),
    }
