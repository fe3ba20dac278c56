"""What a reply is given, before AgentScope takes it into the conversation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentscope.message import DataBlock, Msg, URLSource

from agentscope_reme.agentscope_v2.messages import is_recalled, to_neutral, with_file_read


def told_apart(inputs: Any, context: Sequence[Msg]) -> Any:
    """The inputs, and none of them under the id of another message that is in the context.

    AgentScope takes any id an application gives, and asks for none to be new. A turn that came
    under the id of another one would be taken for that one, and not be recorded.

    Args:
        inputs: what the reply is given: messages, one message, an event or nothing.
        context: the conversation so far.

    Returns:
        The same object when there was nothing to tell apart. A message that is sent once more
        keeps its id; other words under a known id are a copy with an id of their own, which
        depends on nothing but what they say.
    """
    given = inputs if isinstance(inputs, list) else [inputs]
    wanted = {msg.id for msg in given if isinstance(msg, Msg)}
    if not wanted:
        return inputs
    known: dict[str, list[Msg]] = {}
    for msg in context:
        if msg.id in wanted:
            known.setdefault(msg.id, []).append(msg)
    apart = [_apart(msg, known) if isinstance(msg, Msg) else msg for msg in given]
    if all(a is b for a, b in zip(apart, given, strict=True)):
        return inputs
    return apart if isinstance(inputs, list) else apart[0]


def originals(inputs: object) -> dict[str, Msg]:
    """Copies of a turn's messages, before AgentScope replaces attachments; none on a resume."""
    given = inputs if isinstance(inputs, list) else [inputs]
    return {msg.id: msg.model_copy(deep=True) for msg in given if isinstance(msg, Msg)}


def with_files_read(messages: Mapping[str, Msg]) -> dict[str, Msg]:
    """The messages with the bytes of the files they name, which a tool may move or delete."""
    return {
        id_: msg.model_copy(
            update={
                "content": [
                    with_file_read(block) if isinstance(block, DataBlock) else block
                    for block in msg.content
                ]
            }
        )
        for id_, msg in messages.items()
    }


def names_files(messages: Iterable[Msg]) -> bool:
    """Whether attachments have to be read from files, which takes a thread."""
    return any(
        isinstance(block, DataBlock)
        and isinstance(block.source, URLSource)
        and block.source.url.scheme == "file"
        for msg in messages
        for block in msg.content
    )


def last_question(context: Sequence[Msg]) -> list[Msg]:
    """The newest message of a user, if there is one."""
    asked = [msg for msg in context if msg.role == "user" and not is_recalled(msg)]
    return asked[-1:]


def _apart(msg: Msg, known: dict[str, list[Msg]]) -> Msg:
    namesakes = known.setdefault(msg.id, [])
    if not namesakes or any(_is_the_same(msg, other) for other in namesakes):
        namesakes.append(msg)
        return msg
    said = to_neutral(msg, as_given=True).model_dump_json(include={"role", "name", "blocks"})
    # Not like the id of a part of a message, which an archive takes for the whole one.
    own = f"{msg.id}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    return msg.model_copy(update={"id": own}, deep=True)


def _is_the_same(msg: Msg, other: Msg) -> bool:
    """Whether it was sent once more; AgentScope may have replaced attachments of the other."""
    if not _stamps(msg).isdisjoint(_stamps(other)):
        return True
    a, b = (to_neutral(one, as_given=True) for one in (msg, other))
    return (a.role, a.name, a.blocks) == (b.role, b.name, b.blocks)


def _stamps(msg: Msg) -> set[tuple[str, str]]:
    return {(block.id, str(getattr(block, "text", ""))) for block in msg.content}
