"""Auto Resource: files under ``resource/`` become daily cards, and stay in step with them.

`step` runs a call; `look` tells what became of one resource; `material`, `documents`, `pictures`
and `html_text` turn a file into what a model can read; `writer` lets the model write the card;
`ownership` says whose card it is; `ledger` remembers what has no card to remember it.
"""

from agentscope_reme.steps.resources.step import AutoResourceStep, pending_resources

__all__ = ["AutoResourceStep", "pending_resources"]
