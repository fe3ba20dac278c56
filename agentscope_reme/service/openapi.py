"""What the HTTP side takes and answers, as an OpenAPI 3.1 document made of the jobs themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic.json_schema import JsonSchemaMode, models_json_schema

from agentscope_reme.jobs import Job
from agentscope_reme.service.access import OPEN_PATH
from agentscope_reme.service.answers import EVENT_STREAM
from agentscope_reme.service.outcomes import Refused
from agentscope_reme.service.schemas import AsSent, arguments_of

_REFUSALS: Final[Mapping[str, str]] = {
    "400": "An argument was refused; its key is named.",
    "401": "The token is missing or wrong.",
    "403": "The request names another host, or comes from a web page of another origin.",
    "404": "What the arguments name does not exist.",
    "408": "The body did not arrive in time.",
    "409": "Somebody else changed the file first; `current_hash` says what stands there now.",
    "413": "The body is too large.",
    "415": "The body is not `application/json`.",
    "500": "The job failed unexpectedly; nothing about it is told here.",
    "501": "The job needs a chat model, and the service was started without one.",
    "502": "The model failed.",
    "503": "The disk refused, a lock is taken, too many jobs are running, or the service ended.",
}


def openapi(served: Mapping[str, Job], *, version: str, with_token: bool) -> dict[str, Any]:
    """The document for these jobs.

    Args:
        served: by name.
        version: of this package.
        with_token: whether callers need one.
    """
    wanted: list[tuple[type[Any], JsonSchemaMode]] = [(Refused, "serialization")]
    for job in served.values():
        wanted += [(arguments_of(job.name), "validation"), (job.answer, "serialization")]
    refs, schemas = models_json_schema(
        list(dict.fromkeys(wanted)),
        ref_template="#/components/schemas/{model}",
        schema_generator=AsSent,
    )
    failed = {
        status: _answer(told, refs[Refused, "serialization"]) for status, told in _REFUSALS.items()
    }
    paths: dict[str, Any] = {
        f"/{job.name}": {"post": _operation(job, refs, failed)} for job in served.values()
    }
    paths[OPEN_PATH] = {"get": _health()}
    components = {"schemas": schemas["$defs"]}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "agentscope-reme", "version": version},
        "paths": paths,
        "components": components,
    }
    if with_token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _operation(job: Job, refs: Mapping[Any, Any], failed: Mapping[str, Any]) -> dict[str, Any]:
    done = _answer("It ran to its end; `success` says how.", refs[job.answer, "serialization"])
    done["content"][EVENT_STREAM] = {"schema": {"type": "string"}}
    arguments = refs[arguments_of(job.name), "validation"]
    return {
        "operationId": job.name,
        "summary": job.summary,
        "description": job.explanation,
        "requestBody": {"required": True, "content": {"application/json": {"schema": arguments}}},
        "responses": {"200": done, **failed},
    }


def _health() -> dict[str, Any]:
    alive = {
        "type": "object",
        "properties": {"status": {"const": "ok"}},
        "required": ["status"],
        "additionalProperties": False,
    }
    return {
        "operationId": "health",
        "summary": "Whether the service is alive; costs nothing, however large the memory is.",
        "security": [],
        "responses": {"200": _answer("It is.", alive)},
    }


def _answer(told: str, schema: Any) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": schema}}}
