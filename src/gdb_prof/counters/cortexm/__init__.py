"""What a Cortex-M counts in hardware: DWT's counters and the PMU of Armv8.1-M."""
