"""The chat model an agent of QwenPaw uses, as the memory's model."""

from __future__ import annotations

import logging
from typing import Any

from agentscope.model import ChatModelBase
from qwenpaw.agents.model_factory import create_model_and_formatter_async
from qwenpaw.exceptions import ProviderError

logger = logging.getLogger(__name__)


class HostModel(ChatModelBase):
    """Hands every call to the model QwenPaw has chosen for the agent.

    People choose another model while QwenPaw runs, so it is looked up again before a card is
    written; retries, rate limits and token statistics stay QwenPaw's own.
    """

    def __init__(self, agent_id: str) -> None:
        none: Any = None  # the chosen model has a credential of its own
        super().__init__(none, "QwenPaw's model", ChatModelBase.Parameters(), max_retries=0)
        self._agent_id = agent_id
        self._chosen: ChatModelBase | None = None
        self.formatter: Any = None

    @property
    def ready(self) -> bool:
        """Whether a model was chosen when it was last looked up."""
        return self._chosen is not None

    async def offered(self) -> bool:
        """Look the model up again; ``False`` while none is chosen."""
        try:
            self._chosen, _ = await create_model_and_formatter_async(self._agent_id)
        except ProviderError:
            self._chosen = None
            return False
        except Exception as error:  # noqa: BLE001 - providers are plug-ins; saving must go on
            logger.warning("QwenPaw's model cannot be used for memory: %s", error)
            self._chosen = None
            return False
        self.model, self.stream = self._chosen.model, self._chosen.stream
        self.context_size = self._chosen.context_size
        self.formatter = getattr(self._chosen, "formatter", None)
        return True

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As the chosen model."""
        return await self._model()(*args, **kwargs)

    async def generate_structured_output(self, *args: Any, **kwargs: Any) -> Any:
        """As the chosen model."""
        return await self._model().generate_structured_output(*args, **kwargs)

    async def count_tokens(self, *args: Any, **kwargs: Any) -> int:
        """As the chosen model."""
        return await self._model().count_tokens(*args, **kwargs)

    async def _call_api(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("calls are handed on whole")

    def _model(self) -> ChatModelBase:
        if self._chosen is None:
            raise ProviderError(message="QwenPaw has no active model; choose one in its settings.")
        return self._chosen
