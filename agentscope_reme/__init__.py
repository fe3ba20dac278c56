"""agentscope-reme."""
