"""SWO: bytes of a trace pin -> TPIU frames -> ITM and DWT packets -> samples, text, times."""
