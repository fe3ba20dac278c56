"""Typed memories: what is known of a person, how a task is done, what a tool needs, as nodes."""
