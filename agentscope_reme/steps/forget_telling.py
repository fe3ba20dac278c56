"""What a forgetting is told as."""

from __future__ import annotations

from typing import Final

from agentscope_reme.results import ForgetResult, ForgottenPart
from agentscope_reme.tools.answer_limit import counted

_EARLIER: Final = {"changes": "change", "versions": "version", "trash": "trashed file"}
"""What `ForgetResult.earlier` counts, for people."""


def told(result: ForgetResult) -> str:
    """The answer of a forgetting, or of what one would do."""
    if not result.parts:
        rows = ["Nothing to forget."]
    else:
        verb = "Would forget" if result.dry_run else "Forgot"
        rows = [f"{verb} {len(result.parts)} part(s) (plan {result.plan_id}):"]
        rows += [_row(part) for part in result.parts]
        earlier = ", ".join(counted(n, _EARLIER[what]) for what, n in result.earlier.items() if n)
        if earlier:
            rows.append(f"Also from journal and trash: {earlier}.")
    rows += [f"Stays: {_row(part)[2:]}{_way_to(part)}" for part in result.kept]
    rows += [f"Similar: {_row(part)[2:]}" for part in result.similar]
    if not result.dry_run and not result.indexed:
        rows.append("The index follows with the next change.")
    if result.dry_run and result.parts:
        rows.append("Nothing was changed. `dry_run=False` forgets this; it cannot be undone.")
    return "\n".join(rows)


def _way_to(part: ForgottenPart) -> str:
    """The call that forgets what stays."""
    if part.layer == "name":
        return ""
    lines = f", start_line={part.start_line}, end_line={part.end_line}" if part.start_line else ""
    return f"; to forget it too: forget(path={part.path!r}{lines}, dry_run=False)"


def _row(part: ForgottenPart) -> str:
    lines = f":{part.start_line}-{part.end_line}" if part.start_line else ""
    text = f" {part.text!r}" if part.text else ""
    why = f" ({part.reason})" if part.reason else ""
    return f"- {part.layer} {part.path}{lines}{text}{why}"
