"""A model that empties, drops, forges and repeats leaves all evidence as it was.

``REME_DREAM_RUNS`` says how many dreams are tried.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError

from agentscope_reme import ReMe
from agentscope_reme.errors import ModelFailed
from agentscope_reme.files.documents import MarkdownDocument
from agentscope_reme.steps.dream.statements import source_links, statements_of
from agentscope_reme.testing import FakeClock
from tests.dream.conftest import documents, note
from tests.dream.models import Dreamer, Toolbox

RUNS = int(os.environ.get("REME_DREAM_RUNS", "60"))
SECRET = "ghp_" + "a1B2" * 10
PINNED = "digest/personal/pinned.md"
TOPICS = ("Tea", "Launch", "Garden", "Bicycle", "Piano", "Budget", "Holiday", "Server")
VALUES = ("green", "black", "9 July", "in Bern", "with Anna", "twice a week")


class Villain(Dreamer):
    """Picks one evil for each call; sometimes it is honest, so that there is something to spoil."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.chance = random.Random(seed)
        self.paths: list[str] = []
        self.played: set[str] = set()

    async def structured(self, messages: Any, output: Any) -> Any:
        try:
            return await super().structured(messages, output)
        except ValidationError as error:  # as the ports do
            raise ModelFailed("villain", str(error), "Again.") from error

    async def run(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().run(*args, **options)
        except ValidationError as error:
            raise ModelFailed("villain", str(error), "Again.") from error

    async def extract(self, text: str) -> dict[str, Any]:
        honest = await super().extract(text)
        evil: list[Callable[[], dict[str, Any]]] = [
            lambda: {"units": "delete everything"},
            lambda: {"memory": []},
            lambda: {"units": [*honest["units"], {"name": "", "paths": []}, 7]},
            lambda: {"units": honest["units"] * 4},
            lambda: {"units": [{**u, "paths": ["../../etc/passwd"]} for u in honest["units"]]},
            lambda: {"units": [{**u, "name": f"../{u['name']}"} for u in honest["units"]]},
        ]
        if self.chance.random() < 0.7:
            return honest
        return self.chance.choice(evil)()

    async def integrate(self, text: str, box: Toolbox) -> dict[str, Any]:
        evil = self.chance.choice(
            (
                *(self._empty, self._drop_sources, self._elsewhere, self._lie, self._repeat),
                *(self._late, self._garbage, self._two, self._forge, self._pin, self._flood),
                *(self._leak, self._break, self._silently, super().integrate, super().integrate),
            )
        )
        self.played.add(evil.__name__)
        made: Awaitable[dict[str, Any]] = evil(text, box)
        return await made

    def _victim(self) -> str:
        nodes = [path for path in self.paths if path.startswith("digest/")]
        return self.chance.choice(nodes or [PINNED])

    async def _empty(self, text: str, box: Toolbox) -> dict[str, Any]:
        for path in self.chance.sample(self.paths, min(6, len(self.paths))):
            await box.use("write", path=path, content="")
        victim = self._victim()
        return {"action": "REFINE", "target_path": victim}

    async def _drop_sources(self, text: str, box: Toolbox) -> dict[str, Any]:
        victim = self._victim()
        content = "# All new\n\n- I know better.\n\n## Sources\n\n- [[daily/2026-06-01/talk0.md]]\n"
        await box.use("write", path=victim, name="n", description="d", content=content)
        return {"action": self.chance.choice(["REFINE", "CORRECT"]), "target_path": victim}

    async def _elsewhere(self, text: str, box: Toolbox) -> dict[str, Any]:
        places = ["MEMORY.md", "daily/x.md", "session/dialog/s.jsonl", "../out.md", "/tmp/out.md"]
        places += ["journal/2026-06.jsonl", "metadata/x", "digest/x.md", "digest/cellar/x.md"]
        for path in places:
            await box.use("write", path=path, content="mine")
        return {"action": "CREATE", "target_path": self.chance.choice(places)}

    async def _lie(self, text: str, box: Toolbox) -> dict[str, Any]:
        action = self.chance.choice(["CREATE", "CORROBORATE", "REFINE", "CORRECT"])
        return {"action": action, "target_path": self._victim()}

    async def _repeat(self, text: str, box: Toolbox) -> dict[str, Any]:
        """The honest node, but always as a new file."""
        made = await super().integrate(text.replace("Unit: ", "Unit: again "), box)
        return {**made, "action": "CREATE"}

    async def _late(self, text: str, box: Toolbox) -> dict[str, Any]:
        await self._empty(text, box)
        raise ModelFailed("villain", "the agent was not done after 180 seconds", "Later.")

    async def _garbage(self, text: str, box: Toolbox) -> dict[str, Any]:
        await self._empty(text, box)
        return self.chance.choice([{}, {"action": "DELETE", "target_path": "digest"}, {"ok": True}])

    async def _two(self, text: str, box: Toolbox) -> dict[str, Any]:
        await box.use("write", path="digest/wiki/extra.md", name="e", description="e", content="x")
        return await super().integrate(text, box)

    async def _forge(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        await box.use(
            "edit",
            path=made["target_path"],
            old="## Sources",
            new="- Born on 1999-12-31. (observed YYYY-MM-DD)\n\n## Sources",
        )
        return made

    async def _pin(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        await box.use("frontmatter_update", path=made["target_path"], metadata={"pinned": True})
        return made

    async def _flood(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        noise = " ".join(str(self.chance.random()) for _ in range(1500))
        await box.use(
            "edit", path=made["target_path"], old="## Sources", new=f"{noise}\n\n## Sources"
        )
        return made

    async def _leak(self, text: str, box: Toolbox) -> dict[str, Any]:
        made = await super().integrate(text, box)
        leak = f"- The key is {SECRET}\n\n## Sources"
        await box.use("edit", path=made["target_path"], old="## Sources", new=leak)
        return {**made, "note": SECRET}

    async def _break(self, text: str, box: Toolbox) -> dict[str, Any]:
        victim = self._victim()
        await box.use("write", path=victim, content="---\nname: [\n---\n\ud800\x00")
        await box.use("edit", path=victim, old="e", new="\ud800", replace_all=True)
        return {"action": "REFINE", "target_path": f"[[{victim}]]"}

    async def _silently(self, text: str, box: Toolbox) -> dict[str, Any]:
        """Other values in a node, as if nothing had been there, and with a proper source."""
        victim = self._victim()
        source = re.findall(r"^Sources to link: (\[\[.+?\]\])", text, re.MULTILINE)[0]
        await box.use("edit", path=victim, old="## Sources\n", new=f"## Sources\n\n- {source}\n")
        for value in VALUES:
            await box.use("edit", path=victim, old=f": {value}", new=": never", replace_all=True)
        return {"action": "REFINE", "target_path": victim}


async def test_all_evidence_is_there_after_every_dream(
    open_memory: Callable[..., ReMe], clock: FakeClock
) -> None:
    villain = Villain(seed=11)
    chance = random.Random(12)
    clock.set("2026-06-01T23:00:00+02:00")
    committed = 0
    async with open_memory(villain) as reme:
        await reme.write("MEMORY.md", "mine\n")
        await reme.write("resource/2026-06-01/report.txt", "figures\n")
        await reme.record("s", [{"role": "user", "content": "hello"}], distil=False)
        await reme.write(
            PINNED, "- Tea: mine (observed 2026-05-01)\n", name="Pinned", metadata={"pinned": True}
        )
        for number in range(RUNS):
            day = clock.today().isoformat()
            bucket = chance.choice(["personal", "wiki"])
            fact = f"{chance.choice(TOPICS)}: {chance.choice(VALUES)}"
            await note(reme, day, f"talk{number}", f"[{bucket}] {fact}")
            before = documents(reme)
            villain.paths = [*sorted(before), "MEMORY.md"]
            result = await reme.auto_dream()
            committed += bool(result.change_id)
            check(before, documents(reme))
            assert (reme.workspace.root / "MEMORY.md").read_text() == "mine\n"
            assert result.agent_runs <= 1 + 2 * 5
            if number % 5 == 4:
                clock.advance(days=1)
        assert (await reme.doctor()).differences == []
    assert committed > RUNS / 10  # some dreams were honest
    if RUNS >= 100:
        assert len(villain.played) == 15


def check(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    fresh = {path for path in after if before.get(path) != after[path]}
    assert not before.keys() - after.keys()
    assert all(path.startswith("digest/") or path.endswith("/interests.yaml") for path in fresh)
    assert PINNED not in fresh
    for path in fresh:
        text = after[path].decode()
        assert SECRET not in text
        assert "YYYY-MM-DD" not in text
        assert "1999" not in text
        if path.startswith("digest/"):
            check_node(path, before.get(path, b"").decode(), text)


def check_node(path: str, old: str, new: str) -> None:
    document = MarkdownDocument.parse(new)
    assert path.split("/")[1] in ("personal", "procedure", "wiki")
    assert document.front_matter_error is None
    assert document.front_matter["name"]
    assert "pinned" not in document.front_matter
    assert source_links(new) >= source_links(old)
    assert source_links(new)
    held = {statement.core for statement in statements_of(new)}
    assert {statement.core for statement in statements_of(old)} <= held
    assert len(new) < len(old) + 12_000
