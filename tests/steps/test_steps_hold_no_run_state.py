"""A step is configuration; everything about one run belongs to that run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from agentscope_reme import ApplicationContext, BaseStep, Ref, ReMe, RuntimeContext
from agentscope_reme.errors import BadInput
from agentscope_reme.results import Result
from agentscope_reme.steps import run_workflow


class Greeting(BaseModel):
    name: str = "nobody"


class GreetStep(BaseStep[Result]):
    """Waits for a gate, then greets; two runs can be inside it at once."""

    language = Ref(lambda parts: parts.language)

    async def execute(self) -> Result:
        gate = self.context.values.get("gate")
        if gate is not None:
            await gate.wait()
        name = self.context.parse(Greeting).name
        self.context.values["greeted"] = name
        return Result(answer=f"{self.language}: {name}")


@pytest.fixture
def application(reme: ReMe) -> ApplicationContext:
    return reme._engine.application


async def test_two_runs_of_one_instance_do_not_see_each_other(
    application: ApplicationContext,
) -> None:
    step, gate = GreetStep(), asyncio.Event()
    first = asyncio.create_task(step(application, name="first", gate=gate))
    second = asyncio.create_task(step(application, name="second", gate=gate, language="zh"))
    await asyncio.sleep(0)
    gate.set()
    assert (await first).answer == "en: first"
    assert (await second).answer == "zh: second"


async def test_a_ref_resolves_argument_then_run_then_application(
    application: ApplicationContext,
) -> None:
    assert (await GreetStep()(application)).answer.startswith("en")
    assert (await GreetStep()(application, language="run")).answer.startswith("run")
    step = GreetStep(language="argument")
    assert (await step(application, language="run")).answer.startswith("argument")


async def test_what_a_ref_found_is_forgotten_before_the_next_run(
    application: ApplicationContext,
) -> None:
    step = GreetStep()
    assert (await step(application, language="zh")).answer.startswith("zh")
    assert (await step(application)).answer.startswith("en")


async def test_a_ref_is_looked_up_once_in_a_run(application: ApplicationContext) -> None:
    looked: list[int] = []

    def count(parts: Any) -> int:
        looked.append(1)
        return len(looked)

    class CountStep(BaseStep[tuple[int, int]]):
        number = Ref(count)

        async def execute(self) -> tuple[int, int]:
            return self.number, self.number

    step = CountStep()
    assert await step(application) == (1, 1)
    assert await step(application) == (2, 2)


async def test_mappings_rename_values_before_and_after(application: ApplicationContext) -> None:
    step = GreetStep(input_mapping={"person": "name"}, output_mapping={"greeted": "last"})
    context = RuntimeContext.from_context(application, person="Mei")
    assert (await step(context)).answer == "en: Mei"
    assert context.values["last"] == "Mei"


async def test_a_workflow_shares_one_context_and_stops_at_a_failure(
    application: ApplicationContext,
) -> None:
    class FailStep(BaseStep[Result]):
        async def execute(self) -> Result:
            return Result(success=False, answer=f"after {self.context.values['greeted']}")

    result = await run_workflow([GreetStep(), FailStep(), GreetStep()], application, name="Li")
    assert result == Result(success=False, answer="after Li")


def test_an_argument_that_is_no_ref_is_refused_when_the_step_is_made() -> None:
    with pytest.raises(BadInput, match="'langage': GreetStep has no such component"):
        GreetStep(langage="zh")


async def test_a_step_without_an_application_says_how_to_give_one() -> None:
    with pytest.raises(BadInput, match="needs an application context"):
        await GreetStep()(name="x")


async def test_a_step_that_is_not_running_has_no_context() -> None:
    with pytest.raises(BadInput, match="not running"):
        _ = GreetStep().context


async def test_values_are_checked_where_they_enter(application: ApplicationContext) -> None:
    with pytest.raises(BadInput, match="`name`: Input should be a valid string"):
        await GreetStep()(application, name=7)


async def test_now_is_read_once_in_a_run(application: ApplicationContext) -> None:
    context = RuntimeContext.from_context(application)
    seen = context.now
    application.components.clock.advance(days=1)  # type: ignore[attr-defined]  # a FakeClock
    assert context.now == seen
    assert RuntimeContext.from_context(context, x=1).now == seen
