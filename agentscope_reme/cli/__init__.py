"""The command line: ``agentscope-reme <job> key=value ...`` runs one job in one workspace."""

from agentscope_reme.cli.main import main, remecli

__all__ = ["main", "remecli"]
