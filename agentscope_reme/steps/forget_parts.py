"""What is told of a forgetting: everything that goes, part by part, and what stays beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agentscope_reme.files.statements import Statement
from agentscope_reme.files.traces import name_as_text, telling, words_of
from agentscope_reme.results import ForgottenPart
from agentscope_reme.steps.forget_documents import Document
from agentscope_reme.steps.forget_erasure import Outcome
from agentscope_reme.steps.forget_query import Matcher, without_targets
from agentscope_reme.steps.forget_sessions import Conversation
from agentscope_reme.steps.forget_workings import IS_PINNED, Workings
from agentscope_reme.workspace import layer_of

_SHOWN: Final = 120
_WHOLE: Final = "it can only go whole"
_CALLED: Final = "it, its folder or its session is called so"


def parts_of(workings: Workings, outcome: Outcome) -> list[ForgottenPart]:
    """Everything that goes, in the order of layers and paths."""
    parts: list[ForgottenPart] = []
    for talk in sorted(workings.talks.touched, key=lambda one: one.path):
        parts += _of_talk(talk)
    for path, why in sorted(workings.gone_files.items()):
        parts.append(ForgottenPart(layer=_layer_of_file(path), path=path, reason=why))
    for path, document in sorted(workings.documents.items()):
        parts += _of_document(path, document)
    parts += [
        ForgottenPart(layer="name", path=path, reason="the file is named after what goes")
        for path in sorted(outcome.renamed)
    ]
    parts += [
        ForgottenPart(layer="link", path=path, reason="it links to, or lists, what goes")
        for path in sorted(outcome.unlinked)
        if path not in outcome.topics
    ]
    return parts


def kept_of(
    workings: Workings, outcome: Outcome, matcher: Matcher, *, done: bool
) -> list[ForgottenPart]:
    """What stays though it is near: pinned files, what rests on other sources as well, and what
    still holds the words of a query.

    Args:
        workings: with everything marked.
        outcome: what was, or would be, done.
        matcher: the query.
        done: tell the lines as they are afterwards.
    """
    kept = [*workings.kept, *_called_so(workings, outcome, matcher)]
    gone = workings.gone_paths
    lost = telling({word for text in _lost(workings) for word in words_of(text)})
    for path, document in sorted(workings.documents.items()):
        if document.gone:
            continue
        left = outcome.left_of(document)
        kept += _still_said(document, left, matcher, done=done)
        if document.pinned and path not in workings.named:
            near = document.evidence & gone or outcome.erasure.traces.in_text(document.text)
            if near and path not in {part.path for part in kept}:
                kept.append(ForgottenPart(layer="file", path=path, reason=IS_PINNED))
        elif layer_of(path) == "digest" and document.evidence & gone and not document.is_remembered:
            kept += _resting_on_others(left if done else document, lost)
    return kept


def _called_so(workings: Workings, outcome: Outcome, matcher: Matcher) -> Iterator[ForgottenPart]:
    staying = {
        *(outcome.left_of(one).path for one in workings.documents.values() if not one.gone),
        *(workings.binaries.keys() - workings.gone_files.keys()),
        *(talk.path for talk in workings.talks.loaded),
    }
    for path in sorted(staying):
        if matcher.matches(name_as_text(path)):
            yield ForgottenPart(layer="name", path=path, reason=_CALLED)


def _still_said(
    document: Document, left: Document, matcher: Matcher, *, done: bool
) -> Iterator[ForgottenPart]:
    """Where the words of a query stay: nobody is left to believe that they are gone."""
    shown = left if done else document
    reason = IS_PINNED if document.pinned else _WHOLE
    pinned = shown.statements if document.pinned else []
    said = [s for s in pinned if matcher.matches(without_targets(s.text))]
    yield from _each(shown.path, said, reason)
    if not said and not matcher.by_words and matcher.matches(without_targets(left.text)):
        yield ForgottenPart(layer="file", path=shown.path, reason=reason)


def _resting_on_others(document: Document, lost: set[str]) -> Iterator[ForgottenPart]:
    reason = "it rests on other sources as well"
    said = [s for s in document.spoken if not lost.isdisjoint(words_of(s.text))]
    if not said:
        yield ForgottenPart(layer="digest", path=document.path, reason=reason)
    yield from _each(document.path, said, reason)


def _each(path: str, statements: Iterable[Statement], reason: str) -> Iterator[ForgottenPart]:
    for statement in statements:
        yield ForgottenPart(
            layer="statement",
            path=path,
            start_line=statement.start,
            end_line=statement.end,
            text=_short(statement.text),
            reason=reason,
        )


def _lost(workings: Workings) -> Iterator[str]:
    for talk in workings.talks.touched:
        yield from (line.text for line in talk.lines if line.number in talk.gone)
    for document in workings.documents.values():
        if document.gone:
            yield document.text
        yield from (s.text for s in document.statements if document.cut and document.is_cut(s))


def _of_talk(talk: Conversation) -> Iterator[ForgottenPart]:
    for line in talk.lines:
        if line.number in talk.gone:
            yield ForgottenPart(
                layer=talk.layer,
                path=talk.path,
                start_line=line.number,
                end_line=line.number,
                text=_short(line.text),
            )


def _of_document(path: str, document: Document) -> Iterator[ForgottenPart]:
    if document.gone:
        layer = "card" if document.is_card else _layer_of_file(path)
        yield ForgottenPart(layer=layer, path=path, reason=document.why.get(0, ""))
        return
    for statement in document.pieces:
        inside = sorted(document.cut & set(statement.lines))
        if inside:
            lines = document.text.split("\n")[inside[0] - 1 : inside[-1]]
            yield ForgottenPart(
                layer="statement",
                path=path,
                start_line=inside[0],
                end_line=inside[-1],
                text=_short("\n".join(lines)),
                reason=document.why.get(inside[0], ""),
            )
    for key in sorted(document.dropped):
        what = "topics that speak of what goes" if key == "topics" else f"front matter `{key}`"
        yield ForgottenPart(layer="topic" if key == "topics" else "name", path=path, reason=what)


def _layer_of_file(path: str) -> str:
    if path.startswith("session/images/"):
        return "image"
    if path.startswith("tool_result/"):
        return "attachment"
    return {"digest": "digest", "resource": "resource"}.get(layer_of(path), "file")


def _short(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]
