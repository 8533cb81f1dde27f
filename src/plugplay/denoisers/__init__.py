"""Denoisers: any callable ``(image, sigma) -> image``, and the built-in ones by name.

Names are imported when they are first used: BM3D takes long to import.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
