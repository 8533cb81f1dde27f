"""Scripts that train the network behind ``plugplay.denoisers.get("net")``; not part of the wheel.

In this order: ``python -m training.photographs`` fetches the material, ``python -m training.pilots`` runs BM3D on it,
``python -m training.train`` trains, ``python -m training.export`` writes what ships, ``python benchmarks/network.py``
compares with BM3D.
"""

import os

# Threads that wait for each other sleep instead of spinning, which leaves the cores to others; read when PyTorch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
