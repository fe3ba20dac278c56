"""``/openapi.json`` says what is so: what fits is answered as it says, what does not is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks

from agentscope_reme.jobs import READING_JOBS, jobs
from tests.service.conftest import SECRET
from tests.service.processes import Service, bytes_of, running

EXAMPLES: Final = int(os.environ.get("REME_SERVICE_EXAMPLES", "3"))
"""Requests of each kind for each job; `make soak` sends more."""

PROMISED = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that may be written to."""
    with running(tmp_path_factory.mktemp("own")) as service:
        card = {"path": "digest/wiki/a.md", "content": f"The code is {SECRET}."}
        assert service.ask("/write", card).status == 200
        yield service


def operation_of(service: Service, job: str) -> Any:
    document = service.ask("/openapi.json", method="GET").json()
    del document["security"]  # strangers have tests of their own; here the arguments are wrong
    return schemathesis.openapi.from_dict(document)[f"/{job}"]["POST"]


def every(operation: Any, mode: GenerationMode, checked: Any) -> None:
    """Run a check over requests of a mode, which are the same each time."""

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        checked(case)

    run()


@pytest.mark.parametrize("job", sorted(jobs()))
def test_what_fits_is_answered_as_promised(own: Service, job: str) -> None:
    def checked(case: Any) -> None:
        answer = case.call(base_url=own.url, headers={"Authorization": f"Bearer {own.token}"})
        assert answer.status_code in (200, 400, 404, 409, 501), answer.content
        case.validate_response(answer, checks=PROMISED)

    every(operation_of(own, job), GenerationMode.POSITIVE, checked)


@pytest.mark.parametrize("job", sorted(jobs()))
def test_what_does_not_fit_changes_and_tells_nothing(shared: Service, job: str) -> None:
    before = bytes_of(shared.workspace)
    answers: list[int] = []

    def checked(case: Any) -> None:
        answer = case.call(base_url=shared.url, headers={"Authorization": f"Bearer {shared.token}"})
        answers.append(answer.status_code)
        assert 400 <= answer.status_code < 500, (case.body, answer.content)
        assert SECRET.encode() not in answer.content
        assert shared.token.encode() not in answer.content
        case.validate_response(answer, checks=PROMISED)

    every(operation_of(shared, job), GenerationMode.NEGATIVE, checked)
    assert answers
    assert bytes_of(shared.workspace) == before


def test_the_document_lists_every_job_with_its_words(shared: Service) -> None:
    document = shared.ask("/openapi.json", method="GET").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {f"/{name}" for name in jobs()} | {"/health"}
    assert all(document["paths"][f"/{name}"]["post"]["summary"] for name in READING_JOBS)
    assert document["security"] == [{"token": []}]
