"""Single memories in the hands of a person: added, read, changed, listed and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from agentscope_reme.errors import BadInput, NotFound
from agentscope_reme.typed.arguments import (
    filter_of,
    key_of,
    metadata_of,
    own_types,
    scalars_of,
    score_of,
    text_of,
)
from agentscope_reme.typed.markdown import MemoryFile
from agentscope_reme.typed.nodes import MemoryNode
from agentscope_reme.typed.parts import Parts
from agentscope_reme.typed.targets import Target
from agentscope_reme.typed.times import event_stamp, stamp

_LARGEST_LIMIT: Final = 1_000_000_000  # no engine holds as many, and each can count to it


class Memories:
    """The calls about single memories.

    Args:
        parts: where they are kept.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def add(
        self,
        target: Target,
        content: object,
        *,
        metadata: Mapping[str, Any],
        **fields: Any,
    ) -> MemoryNode:
        """Store a memory; it is durable when this returns.

        Args:
            target: whom it is about.
            content: what is known.
            metadata: scalars by key.
            fields: other fields of the node; the time of the event is now without one.

        Raises:
            BadInput: a value does not fit.
            StorageFailed: nothing was stored.
        """
        now = stamp(self._parts.clock.now(), self._parts.clock)
        given = {"message_time": now, **self._checked(fields)}
        node = MemoryNode(
            memory_type=target.memory_type,
            memory_target=target.name,
            content=text_of("memory_content", content, required=True),
            time_created=now,
            time_modified=now,
            metadata=metadata_of(metadata),
            **given,
        )
        await self._parts.index.put([node])
        return node

    async def get(self, memory_id: object) -> MemoryNode:
        """One node by its id, whatever its target.

        Raises:
            NotFound: there is none.
        """
        found = await asyncio.to_thread(self._parts.index.store.get, [_known_id(memory_id)])
        if not found:
            raise _unknown(memory_id)
        return found[0]

    async def update(
        self,
        target: Target,
        memory_id: object,
        content: object = None,
        *,
        metadata: Mapping[str, Any],
        **fields: Any,
    ) -> MemoryNode:
        """Change a memory of this target; it keeps its id and what is not given.

        Args:
            target: whom it is about.
            memory_id: which one.
            content: the new text; ``None`` keeps the old one.
            metadata: scalars by key; ``None`` as a value removes the key.
            fields: other fields; ``None`` keeps the old value.

        Raises:
            NotFound: the target has no such memory.
            BadInput: a value does not fit.
            StorageFailed: nothing was changed.
        """
        update = self._checked({key: value for key, value in fields.items() if value is not None})
        if content is not None:
            update["content"] = text_of("memory_content", content, required=True)
        update["time_modified"] = stamp(self._parts.clock.now(), self._parts.clock)
        new = metadata_of({key: value for key, value in metadata.items() if value is not None})

        def changed(node: MemoryNode) -> MemoryNode:
            if node.memory_target != target.name or node.memory_type not in own_types(target):
                raise _unknown(memory_id)
            kept = {key: value for key, value in node.metadata.items() if key not in metadata}
            return node.model_copy(update={**update, "metadata": {**kept, **new}})

        before = await self.get(memory_id)
        draft = changed(before)
        latest: list[MemoryNode] = []

        def last_look() -> list[MemoryNode]:
            latest[:] = map(changed, self._parts.index.store.get([before.memory_id]))
            if not latest:  # it was deleted meanwhile, and stays so
                raise _unknown(memory_id)
            return latest

        moved = draft.embedded_text != before.embedded_text
        await self._parts.index.put([draft] if moved else [], last_look=last_look)
        return latest[0]

    async def restore(self, file: MemoryFile, node: MemoryNode | None) -> MemoryNode:
        """Store what an exported file says: of a memory that is there, or of one that was lost.

        Raises:
            BadInput: a value does not fit.
        """
        now = stamp(self._parts.clock.now(), self._parts.clock)
        base = node or MemoryNode(
            memory_id=_known_id(file.memory_id),
            memory_type=file.memory_type,
            memory_target=file.memory_target,
            content="",
            time_created=file.times["time_created"] or now,
        )
        changed = base.model_copy(
            update={
                "when_to_use": "",
                "message_time": base.time_created,
                **self._checked(file.fields),
                "content": text_of("content", file.content, required=True),
                "time_modified": now if file.edited else file.times["time_modified"] or now,
                "metadata": scalars_of(file.metadata),
            }
        )
        await self._parts.index.put([changed])
        return changed

    async def list(
        self,
        target: Target,
        *,
        filters: Mapping[str, Any] | None = None,
        limit: int | None = None,
        sort_key: str | None = None,
        reverse: bool = True,
    ) -> list[MemoryNode]:
        """The memories of a target; see `VectorReMe.list_memory`.

        Raises:
            BadInput: a filter, the limit or the sort key does not fit.
        """
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or limit < 1
        ):
            raise BadInput(limit, "`limit` is no number above 0", "Leave it out for all.")
        if sort_key is not None and not isinstance(sort_key, str):
            raise BadInput(sort_key, "`sort_key` is no name", "Name a field or a metadata key.")
        if sort_key:
            key_of("sort_key", sort_key)
        where = filter_of(target, {} if filters is None else filters)
        most = None if limit is None else min(limit, _LARGEST_LIMIT)
        return await asyncio.to_thread(
            self._parts.index.store.list, where, limit=most, sort_key=sort_key, reverse=reverse
        )

    async def delete(self, memory_id: object) -> None:
        """Forget one node.

        Raises:
            NotFound: there is none.
        """
        if not await self._parts.index.delete([_known_id(memory_id)]):
            raise _unknown(memory_id)

    async def delete_all(self) -> int:
        """Forget every node of every target, conversations too; how many there were."""
        return await self._parts.index.clear()

    def _checked(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        checked: dict[str, Any] = {}
        for name, value in fields.items():
            match name:
                case "message_time" if value == "":
                    continue
                case "message_time":
                    checked[name] = event_stamp(value, self._parts.clock)
                case "score":
                    checked[name] = score_of(value)
                case _:
                    checked[name] = text_of(name, value)
        return checked


def _known_id(memory_id: object) -> str:
    if not isinstance(memory_id, str) or not memory_id:
        raise BadInput(memory_id, "`memory_id` is no id", "Pass the `memory_id` of a node.")
    return memory_id


def _unknown(memory_id: object) -> NotFound:
    return NotFound(
        memory_id, "there is no such memory", "Use `list_memory` for the ids there are."
    )
