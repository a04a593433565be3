"""The Micro Trace Buffer of Cortex-M0+, M23 and M33: its packets, the branches and instructions they tell."""
