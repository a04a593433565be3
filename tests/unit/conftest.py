"""How hypothesis searches here."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("unit", deadline=None)  # a busy machine is no fault of an example
settings.load_profile("unit")
