"""What the agent that integrates one unit is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agentscope_reme.context.tokens import estimate_tokens
from agentscope_reme.files.dream_progress import WaitingUnit
from agentscope_reme.quoting import defuse
from agentscope_reme.results import NodeHit
from agentscope_reme.steps.dream.material import DailyFile, fitting
from agentscope_reme.steps.dream.nodes import show_nodes
from agentscope_reme.steps.dream.prompts import load_prompt
from agentscope_reme.steps.dream.proposal import RefusedError
from agentscope_reme.tools.answer_limit import one_line

_LONGEST_SUMMARY: Final = 2000
_MOST_FAULTS: Final = 10
_AROUND_A_CARD: Final = 60  # tokens: its element, and how to read on
_FEWEST_TOKENS: Final = 60  # less of a note than this tells nothing


@dataclass(frozen=True, slots=True)
class UnitPrompt:
    """The two texts of one agent run."""

    instructions: str
    text: str


def unit_prompt(
    unit: WaitingUnit,
    evidence: Sequence[DailyFile],
    *,
    days: Sequence[str],
    hint: str,
    nodes: Iterable[NodeHit],
    refused: RefusedError | None,
    language: str,
    budget_tokens: int,
) -> UnitPrompt:
    """Both texts, within a budget; evidence that does not fit is named, to be read by tool.

    Args:
        unit: what is to be integrated.
        evidence: the daily files behind it.
        days: the days of those files, oldest first.
        hint: what the caller wants to be minded.
        nodes: digest nodes that may fit.
        refused: why a first attempt was refused.
        language: ``en`` or ``zh``.
        budget_tokens: the most estimated tokens of both texts together.
    """
    system = load_prompt("dream_integrate_system", language).substitute(day=days[-1])
    again = _again(refused, language)
    template = load_prompt("dream_integrate", language)
    values = {
        "name": defuse(one_line(unit.name)),
        "bucket": unit.bucket,
        "summary": defuse(one_line(unit.summary, _LONGEST_SUMMARY)),
        "sources": ", ".join(f"[[{path}]]" for path in unit.paths),
        "days": ", ".join(days),
        "hint": defuse(hint) or "-",
        "nodes": defuse(show_nodes(nodes)) or "-",
    }
    fixed = estimate_tokens(f"{system}\n{template.substitute(values, evidence='')}\n{again}")
    text = template.substitute(values, evidence=_quoted(evidence, budget_tokens - fixed))
    return UnitPrompt(system, f"{text}\n\n{again}" if again else text)


def _again(refused: RefusedError | None, language: str) -> str:
    if refused is None:
        return ""
    receipt = refused.receipt
    return load_prompt("dream_refused", language).substitute(
        faults="\n".join(f"- {defuse(one_line(f, 500))}" for f in refused.faults[:_MOST_FAULTS]),
        action=receipt.action if receipt else "-",
        target=defuse(one_line(receipt.target_path)) if receipt else "-",
    )


def _quoted(evidence: Sequence[DailyFile], room: int) -> str:
    """The notes, each with an equal share of what is left; those without a share are counted."""
    pieces: list[str] = []
    for number, file in enumerate(evidence):
        left = len(evidence) - number
        share = room // left - _AROUND_A_CARD
        if share < _FEWEST_TOKENS:
            pieces.append(f"[{left} more of the sources are not shown: `read` them]")
            break
        pieces.append(_card(file, share))
        room -= estimate_tokens(pieces[-1])
    return "\n\n".join(pieces)


def _card(file: DailyFile, share: int) -> str:
    end = fitting(file.text, 0, share)
    note = ""
    if end < len(file.text):
        line = file.text.count("\n", 0, end) + 1
        note = f"\n[cut here; `read` {file.path} from about line {line} on for the rest]"
    return f'<card path="{file.path}">\n{defuse(file.text[:end].strip())}{note}\n</card>'
