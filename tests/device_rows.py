"""A small unit as rows: registers and fields of every kind."""

from __future__ import annotations

ROWS = """\
# a unit of three registers
register,CTRL,0x04,documented,manual,
register,DATA,0x10 w,article,text,
register,AT0,0x08,article,text,
field,CTRL.EN,0,documented,manual,
field,CTRL.MODE,4:1,unverified,"damaged, here",
field,AT?.KIND,?:4,article,text,
code,MODE.fast,0b0010,article,text,
code,MODE.slow,?,unknown,,
rule,alignment,32,article,text,
record,wrap_flag,?,unknown,,
"""
