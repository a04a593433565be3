"""Event rings of an RTOS: bytes -> records -> timeline -> findings -> text or file."""
