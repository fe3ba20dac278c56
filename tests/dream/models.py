"""Scripted dreamers: they are ports themselves, follow fixed rules and remember what they saw.

A daily note tells them what to do by lines such as ``- [personal] Tea: green``: the bucket, the
topic and the value. A topic that has another value now is corrected, the same one corroborated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentscope_reme.errors import ModelFailed
from agentscope_reme.messages import Message
from agentscope_reme.ports import AgentRun, ChatReply, StructuredReply, Tool, ToolOutput, Usage
from agentscope_reme.steps.dream.units import Extraction, Receipt

FACT = re.compile(r"^- \[(personal|procedure|wiki)\] ([^:\n]+): (.+)$", re.MULTILINE)
CARD = re.compile(r'<card path="([^"]+)"[^>]*>\n(.*?)\n</card>', re.DOTALL)
OLD = re.compile(
    r"^- (?P<name>[^:\n]+): (?P<value>.*?) \(observed (?P<day>[\d-]+)\)$", re.MULTILINE
)


@dataclass(frozen=True)
class Asked:
    """One prompt as a dreamer got it."""

    kind: str
    text: str
    tools: tuple[str, ...] = ()


class Toolbox:
    """The tools of one run, by name; counts what was called."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self.calls = 0

    async def use(self, name: str, /, **arguments: Any) -> ToolOutput:
        self.calls += 1
        return await self._tools[name].call(arguments)


class Dreamer:
    """Honest: does what the prompts ask. Subclasses spoil parts of it."""

    supports_images = False

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.runs = 0

    async def complete(self, messages: Sequence[Message]) -> ChatReply:
        raise AssertionError("a dream completes nothing")

    async def structured(self, messages: Sequence[Message], output: type[Any]) -> Any:
        assert output is Extraction
        text = "\n\n".join(message.text for message in messages)
        self.asked.append(Asked("extract", text))
        self.runs += 1
        return StructuredReply(output.model_validate(await self.extract(text)), Usage())

    async def run(
        self,
        instructions: str,
        messages: Sequence[Message],
        tools: Sequence[Tool],
        output: type[Any] | None = None,
        *,
        max_iters: int = 12,
        deadline: float | None = None,
    ) -> AgentRun[Any]:
        assert output is Receipt
        assert 2 <= max_iters <= 12
        text = f"{instructions}\n\n{messages[0].text}"
        self.asked.append(Asked("integrate", text, tuple(tool.name for tool in tools)))
        self.runs += 1
        box = Toolbox(tools)
        receipt = await self.integrate(messages[0].text, box)
        if box.calls >= max_iters:
            raise ModelFailed("dreamer", f"not done after {max_iters} calls", "Allow more.")
        return AgentRun("done", output.model_validate(receipt), Usage(), box.calls + 1)

    async def extract(self, text: str) -> dict[str, Any]:
        """One unit for each fact, over all the notes that tell it; the same for topics."""
        found: dict[tuple[str, str], tuple[str, list[str]]] = {}
        for path, body in CARD.findall(text):
            for bucket, name, value in FACT.findall(body):
                paths = found.get((bucket, name), ("", []))[1]
                found[bucket, name] = (value, [*paths, path])
        units = [
            {"name": name, "summary": f"{name}: {value}", "bucket": bucket, "paths": paths}
            for (bucket, name), (value, paths) in found.items()
        ]
        topics = [
            {"title": f"More on {unit['name']}", "reason": "new", "paths": unit["paths"]}
            for unit in units
        ]
        return {"units": units, "topics": topics[:3]}

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        name = _line(text, "Unit")
        value = _line(text, "What it holds").partition(": ")[2]
        bucket = _line(text, "Bucket")
        day = _line(text, "Noted on").split(", ")[-1]
        sources = _line(text, "Sources to link").split(", ")
        known = await self.find(name, box)
        if known is None:
            return await self.create(box, bucket, name, value, sources)
        return await self.update(box, known, name, value, day, sources)

    async def find(self, name: str, box: Toolbox) -> str | None:
        found = (await box.use("node_search", query=name)).text
        for row in found.splitlines():
            path, _, rest = row.partition(" | ")
            if rest.split(" | ")[0] == name:
                return path
        return None

    async def create(
        self, box: Toolbox, bucket: str, name: str, value: str, sources: list[str]
    ) -> dict[str, Any]:
        path = f"digest/{bucket}/{slug(name)}.md"
        listed = "\n".join(f"- {source}" for source in sources)
        content = f"# {name}\n\n- {name}: {value}\n\n## Sources\n\n{listed}\n"
        await box.use(
            "write", path=path, name=name, description=f"{name}: {value}", content=content
        )
        return {"action": "CREATE", "target_path": path}

    async def update(
        self, box: Toolbox, path: str, name: str, value: str, day: str, sources: list[str]
    ) -> dict[str, Any]:
        text = (await box.use("read", path=path)).text
        current = [m for m in OLD.finditer(text) if m["name"] == name]
        same = [match for match in current if match["value"] == value]
        action = "CORROBORATE" if same or not current else "CORRECT"
        if action == "CORRECT":
            last = current[-1]
            ended = f"- {name}: {last['value']} (observed {last['day']}, until {day})"
            await box.use("edit", path=path, old=last[0], new=f"{ended}\n- {name}: {value}")
        if "## Sources" not in text:
            last = text.rstrip().splitlines()[-1]
            await box.use("edit", path=path, old=last, new=f"{last}\n\n## Sources\n\n")
        fresh = [source for source in sources if source not in text]
        for source in fresh:
            await box.use(
                "edit", path=path, old="## Sources\n\n", new=f"## Sources\n\n- {source}\n"
            )
        return {"action": action, "target_path": path}


def slug(name: str) -> str:
    return re.sub(r"\W+", "-", name.casefold()).strip("-")


def _line(text: str, key: str) -> str:
    found = re.search(rf"^{key}: (.*)$", text, re.MULTILINE)
    assert found, (key, text)
    return found[1]
