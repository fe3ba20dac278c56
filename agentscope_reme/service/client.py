"""Asks a running service for a job, with nothing but the standard library."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentscope_reme.errors import StorageFailed
from agentscope_reme.progress import Progress
from agentscope_reme.service.access import OPEN_PATH
from agentscope_reme.service.answers import EVENT_STREAM
from agentscope_reme.service.bodies import MOST_BYTES
from agentscope_reme.service.identity import CHALLENGE, PROOF, fresh, is_proven
from agentscope_reme.service.outcomes import NOT_TAKEN
from agentscope_reme.service.presence import Address

_PROOF_SECONDS: Final = 5.0
"""How long a service may take to prove that it is the one; a busy one is left alone."""

_SILENT_SECONDS: Final = 60.0
"""How long a service may be silent: it says every ten seconds that it is still at work."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered: a status of HTTP, and the fields of a result."""

    status: int
    result: Mapping[str, Any]


def ask(
    address: Address,
    token: str,
    job: str,
    arguments: Mapping[str, Any],
    on_progress: Callable[[Progress], None],
) -> Answer | None:
    """Let a service do a job; ``None`` when it did not begin with it.

    Args:
        address: where it listens.
        token: what it wants to know.
        job: the name of the job.
        arguments: of the job; values of JSON.
        on_progress: is called now and then while a long job runs.

    Raises:
        StorageFailed: the service went away while it was at work.
    """
    try:
        body = json.dumps(arguments, allow_nan=False).encode()
    except (TypeError, ValueError):  # no JSON; the library itself says what is wrong with it
        return None
    if len(body) > MOST_BYTES:
        return None
    connection = http.client.HTTPConnection(address.host, address.port, timeout=_PROOF_SECONDS)
    try:
        if not _is_the_one(connection, address):
            return None
        answer = _exchange(connection, f"/{job}", body, token, on_progress)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StorageFailed(
            address.url,
            f"the service of this memory went away while it was at work: {error!r}",
            "See `history` for what it has done; `service=off` does it without a service.",
        ) from error
    finally:
        connection.close()
    return None if answer.result.get("error") in NOT_TAKEN else answer


def _is_the_one(connection: http.client.HTTPConnection, address: Address) -> bool:
    """Connect; whether the one who listens there proves to be the service, before it is told more.

    The connection is not made anew later, for then somebody else might answer.
    """
    challenge = fresh()
    try:
        connection.connect()
        connection.auto_open = 0
        connection.request("GET", OPEN_PATH, headers={CHALLENGE: challenge})
        response = connection.getresponse()
        if not is_proven(address.secret, challenge, response.headers.get(PROOF, "")):
            return False
        response.read()
        connection.sock.settimeout(_SILENT_SECONDS)
    except (OSError, http.client.HTTPException):
        return False
    return not response.will_close


def _exchange(
    connection: http.client.HTTPConnection,
    path: str,
    body: bytes,
    token: str,
    on_progress: Callable[[Progress], None],
) -> Answer:
    headers = {"content-type": "application/json", "accept": f"{EVENT_STREAM}, application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    if response.headers.get_content_type() != EVENT_STREAM:
        return Answer(response.status, json.loads(response.read()))
    event = ""
    for line in response:
        field, _, value = line.decode("utf-8").rstrip("\n").partition(": ")
        if field == "event":
            event = value
        elif field == "data" and event == "progress":
            on_progress(Progress(**json.loads(value)))
        elif field == "data" and event == "result":
            told = json.loads(value)
            return Answer(told["status"], told["result"])
    raise http.client.IncompleteRead(b"")
