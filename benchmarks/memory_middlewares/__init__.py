"""Memory middlewares of AgentScope 2.x in the same conversations, ours and the shipped ones."""
