"""``agentscope-reme start``: serves the memory until it is asked to end."""

from __future__ import annotations

import asyncio
import typing
from collections.abc import Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Final

from agentscope_reme.cli.arguments import parse
from agentscope_reme.cli.running import setup_of
from agentscope_reme.cli.telling import tell
from agentscope_reme.configuration.opening import open_memory
from agentscope_reme.jobs import Job
from agentscope_reme.service.options import ServiceOptions, require_libraries
from agentscope_reme.service.serving import serve

START: Final = Job(
    "start",
    summary="Serve the memory over HTTP and MCP, to programs on this machine.",
    types=MappingProxyType(typing.get_type_hints(ServiceOptions)),
    defaults=MappingProxyType({field.name: field.default for field in fields(ServiceOptions)}),
)


def start(words: Sequence[str]) -> int:
    """Serve until SIGTERM, SIGINT, or the end of standard input.

    Args:
        words: what was written behind ``start``.

    Raises:
        ReMeError: a word is wrong, or the service cannot be started.
    """
    require_libraries()
    arguments = parse(START, [word for word in words if word != "--json"])
    configuration = arguments.configuration
    options = ServiceOptions(**{**configuration.service.model_dump(), **arguments.call})
    reme = open_memory(configuration)
    asyncio.run(serve(reme, options, setup=setup_of(configuration), tell=tell))
    return 0
