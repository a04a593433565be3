"""The MSC8251 DPU: its counters configured and read, its trace buffer, and what is said of them."""
