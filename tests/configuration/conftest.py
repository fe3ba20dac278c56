"""The provider on the loopback interface."""

from tests.loopback.fixtures import provider

__all__ = ["provider"]
