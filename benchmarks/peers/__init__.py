"""One driver per search engine; each runs in a process and an environment of its own."""
