"""Scripts that train what ships; not part of the wheel.

``python -m training.photographs`` fetches the material of all. For ``plugplay.denoisers.get("net")``: ``python -m
training.pilots`` runs BM3D on it, ``python -m training.train`` trains, ``python -m training.export`` writes what ships,
``python benchmarks/network.py`` compares with BM3D. For the baselines of the paper's table: ``python -m training.dcnn
2`` (and 4) and ``python -m training.spsr`` train and write what ships.
"""

import os

# Threads that wait for each other sleep instead of spinning, which leaves the cores to others; read when PyTorch loads.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
