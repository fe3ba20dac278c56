"""Auto Dream: daily notes are consolidated into digest nodes, and no evidence is ever lost."""

from agentscope_reme.steps.dream.auto_dream import DREAM, AutoDreamStep
from agentscope_reme.steps.dream.extract import DreamExtractStep
from agentscope_reme.steps.dream.finish import DreamFinishStep
from agentscope_reme.steps.dream.integrate import DreamIntegrateStep
from agentscope_reme.steps.dream.run import dream_backlog
from agentscope_reme.steps.dream.topics import DreamTopicsStep, ProactiveStep

__all__ = [
    "DREAM",
    "AutoDreamStep",
    "DreamExtractStep",
    "DreamFinishStep",
    "DreamIntegrateStep",
    "DreamTopicsStep",
    "ProactiveStep",
    "dream_backlog",
]
