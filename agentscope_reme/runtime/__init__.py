"""Background work: a serial worker, a failure log, call budgets, care for the index."""

from agentscope_reme.runtime.budget import CallBudget
from agentscope_reme.runtime.circuit_breaker import CircuitBreaker
from agentscope_reme.runtime.failures import FailureLog
from agentscope_reme.runtime.index_upkeep import IndexUpkeep
from agentscope_reme.runtime.serial_worker import SerialWorker

__all__ = ["CallBudget", "CircuitBreaker", "FailureLog", "IndexUpkeep", "SerialWorker"]
