"""What a call of Auto Resource did, in words."""

from __future__ import annotations

from collections.abc import Collection

from agentscope_reme.results import AutoResourceResult, ResourceCard
from agentscope_reme.tools.answer_limit import named

_MOST_LINES = 50


def told(
    result: AutoResourceResult, *, no_agent: str = "", refused: Collection[str] = ()
) -> AutoResourceResult:
    """The result with its ``answer`` and ``success``: a failed resource is no success.

    Args:
        result: what was done.
        no_agent: why there is no agent, as a clause; empty when there is one.
        refused: names that stand for no resource, so that nothing tries them again.
    """
    lines = [_card(card) for card in result.cards]
    for item in result.failed:
        again = "" if item.item in refused else " and is tried again"
        lines.append(f"{item.item} failed{again}: {item.reason}")
    if result.pending:
        busy = "the model calls of this run are used up, or another process is at it"
        why = no_agent or busy
        lines.append(f"{len(result.pending)} wait ({why}): {named(result.pending)}.")
    lines += [f"{item.item} is passed over: {item.reason}" for item in result.skipped]
    if result.unchanged:
        lines.append(f"{result.unchanged} unchanged.")
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 1 :] = [f"and {len(lines) - _MOST_LINES + 1} more."]
    result.success = not result.failed
    result.answer = "\n".join(lines) or "There are no resources."
    return result


def _card(card: ResourceCard) -> str:
    match card.action:
        case "declined":
            return f"Nothing worth a card was found in {card.resource}."
        case "moved":
            return f"{card.path} follows {card.previous} to {card.resource}."
        case "removed":
            said = f"{card.resource} is gone: {card.path} is in the trash"
            links = dict.fromkeys(link.source_path for link in card.inbound)
            return f"{said}; still linked from {', '.join(links)}." if links else f"{said}."
        case "created" | "updated":
            return f"{card.action.capitalize()} {card.path} from {card.resource}."
