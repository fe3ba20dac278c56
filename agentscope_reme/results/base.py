"""The root of every result, and one item that could not be done.

Annotations of results are no texts: pydantic would compile each of them at every start.
"""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A piece of a result; how it is validated is worked out when the first one is made."""

    model_config = ConfigDict(defer_build=True)


class Result(Part):
    """The root of every result.

    ``answer`` is what an agent or a terminal shows; it alone tells what happened.
    """

    model_config = ConfigDict(extra="forbid")

    success: bool = True
    answer: str = ""


class Failure(Part):
    """One item of a batch that could not be done; the others went on."""

    item: str
    reason: str
