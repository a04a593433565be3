"""The debugger: memory, registers, run control, symbols, the sampler in a target."""
