"""The paper's tables and figures, computed anew and set beside the printed numbers.

``plugplay reproduce all --images DIR --out report`` does it from the command line; `reproduce` does it from Python.
"""

from __future__ import annotations

from plugplay.reproduce.reproduction import Plan, reproduce

__all__ = ["Plan", "reproduce"]
