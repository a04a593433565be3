"""Two profiles -> what changed between them, and what of it is larger than chance."""
