"""How a memory begins and ends: what its constructor is told, and ``async with``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from agentscope_reme.clock import Clock
from agentscope_reme.errors import BadInput
from agentscope_reme.prompts import LANGUAGES
from agentscope_reme.settings import Settings


def surroundings(
    language: str, timezone: str | None, settings: Settings | None, clock: Clock | None
) -> tuple[Settings, Clock]:
    """The settings and the clock of a memory, with the defaults where nothing is given.

    Args:
        language: of prompts and notices.
        timezone: an IANA name; it excludes a clock, which has a zone already.
        settings: limits and budgets.
        clock: the source of "now".

    Raises:
        BadInput: one of them is something else, or unknown.
    """
    if language not in LANGUAGES:
        known = " or ".join(LANGUAGES)
        raise BadInput(language, "not a language this library speaks", f"Use {known}.")
    if clock is not None and timezone is not None:
        raise BadInput(timezone, "`clock` already has a time zone", "Pass one of the two.")
    if not isinstance(settings, Settings | None):
        raise BadInput(settings, "`settings` is no `Settings`", "Pass `Settings(...)`.")
    if not isinstance(clock, Clock | None):
        raise BadInput(clock, "`clock` is no `Clock`", "Pass `Clock(...)` or `timezone=`.")
    return settings or Settings(), clock or Clock(timezone)


class Lifetime(ABC):
    """``async with`` for what starts and closes."""

    @abstractmethod
    async def start(self) -> object:
        """Open the memory; calling it again does nothing."""

    @abstractmethod
    async def close(self) -> object:
        """Close the memory; calling it again does nothing."""

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
