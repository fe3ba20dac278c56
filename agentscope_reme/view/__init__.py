"""The memory as a page to look at: timeline, links, search, and the way back to the source."""
