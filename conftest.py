"""Modules that need PyTorch are not searched for examples where it is not installed."""

import importlib.util

NETWORKS = ("dncnn", "drunet", "ffdnet")

collect_ignore = (
    []
    if importlib.util.find_spec("torch")
    else [f"src/plugplay/denoisers/learned/{network}.py" for network in NETWORKS]
)
