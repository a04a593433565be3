"""The program that was sampled: its symbols, functions and instructions, read or saved."""
