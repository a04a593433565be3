"""Samples -> functions -> shares -> tables; saved profiles. Needs no debugger."""
