"""More than one image, more than one process, more than one machine.

Executors do independent tasks here, in other processes or on a Dask cluster, with the same results; names are imported
when they are first used, and ``__init__.pyi`` lists them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
