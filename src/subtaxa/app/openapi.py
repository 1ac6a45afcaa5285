"""The JSON interface in the words of OpenAPI, made from the endpoints themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from subtaxa.app.endpoints import Endpoint
from subtaxa.runtime.version import __version__

ABOUT = (
    "The interface of `subtaxa open`. It needs the cookie that the printed link gives and, for POST, an Origin header "
    "with the address of the app. `known` is the number of edits that the caller knows (`edits` of the state): if the "
    "run has others by now, nothing is changed and the answer is 409 with the new state."
)
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", None: "null"}
PROBLEM = {"type": "object", "required": ["problem"], "properties": {"problem": {"type": "string"}}}

UPLOAD = {
    "post": {
        "summary": "Take a file. The answer has its number, its columns and its first rows.",
        "parameters": [{"name": "name", "in": "query", "required": True, "schema": {"type": "string"}}],
        "requestBody": {"required": True, "content": {"application/octet-stream": {}}},
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}},
            "422": {"description": "What is wrong.", "content": {"application/json": {"schema": PROBLEM}}},
        },
    }
}


def describe(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of some endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "subtaxa open", "version": __version__, "description": ABOUT},
        "paths": {f"/api/{endpoint.name}": _path(endpoint) for endpoint in endpoints} | {"/api/upload": UPLOAD},
    }


def schema_of(shape: Any) -> dict[str, Any]:
    """A shape (`runtime/json_files.py`) as a JSON schema."""
    if isinstance(shape, tuple):
        return {"anyOf": [schema_of(one) for one in shape]}
    if isinstance(shape, list):
        return {"type": "array", "items": schema_of(shape[0])}
    if isinstance(shape, dict):
        return {
            "type": "object",
            "required": [name for name in shape if not name.endswith("?")],
            "properties": {name.removesuffix("?"): schema_of(one) for name, one in shape.items()},
        }
    return {"type": PLAIN[shape]}


def _path(endpoint: Endpoint) -> dict[str, Any]:
    answers = {"200": _answer("The answer.", {"type": "object"}), "422": _answer("What is wrong.", PROBLEM)}
    if endpoint.shape is None:
        return {"get": {"summary": endpoint.about, "responses": answers}}
    if "known" in endpoint.shape:
        answers["409"] = _answer("The run was changed elsewhere; `state` is how it is now.", PROBLEM)
    body = {"required": True, "content": {"application/json": {"schema": schema_of(endpoint.shape)}}}
    return {"post": {"summary": endpoint.about, "requestBody": body, "responses": answers}}


def _answer(says: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": says, "content": {"application/json": {"schema": schema}}}
