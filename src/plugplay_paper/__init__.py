"""The paper's tables and figures, computed anew and set beside the printed numbers.

``plugplay reproduce all --images DIR --out report`` does it from the command line; `reproduce` does it from Python.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
