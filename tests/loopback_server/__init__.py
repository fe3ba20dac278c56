"""The loopback provider, proved with AgentScope's own clients."""
