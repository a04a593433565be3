"""A trace in the formats of others, one a module."""
