"""The tests of agentscope-reme."""
