"""Counters and trace buffers in hardware: registers, device descriptions, what they hold."""
