"""Profiles as files: one that describes itself, and the text of a UART."""
