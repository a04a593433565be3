"""One function of a profile: its lines and instructions, its callers."""
