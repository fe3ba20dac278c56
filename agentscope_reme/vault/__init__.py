"""The only way anything in a workspace changes: planned, journaled, indexed, undoable."""
