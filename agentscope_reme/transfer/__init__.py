"""Bringing memories in from elsewhere, and taking a whole memory along as one archive."""
