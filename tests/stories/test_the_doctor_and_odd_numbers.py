"""A front matter value that equals nothing, not even itself, is no difference."""

from __future__ import annotations

from collections.abc import Callable

from agentscope_reme import ReMe


async def test_not_a_number_in_front_matter_is_in_order(open_memory: Callable[..., ReMe]) -> None:
    async with open_memory() as reme:
        await reme.write("digest/wiki/a.md", "---\nratio: .nan\n---\nzirconia\n")
        found = await reme.doctor()
    assert found.success, found.answer
