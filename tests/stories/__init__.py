"""One promise to the user per file, on whichever AgentScope line is installed."""
