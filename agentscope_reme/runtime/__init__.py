"""Background work: a serial worker, a failure log and call budgets."""

from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.runtime.serial_worker import SerialWorker

__all__ = ["CallBudget", "FailureLog", "SerialWorker"]
