"""Modules that cannot be imported here, or that warn when they are, are not searched for examples."""

import importlib.util

NEED_TORCH = ("layouts", "networks")
DEPRECATED = ("imageio", "photon_cubes")

collect_ignore = [f"src/plugplay/{name}.py" for name in DEPRECATED]
if not importlib.util.find_spec("torch"):
    collect_ignore += [f"src/plugplay/denoisers/learned/{name}.py" for name in NEED_TORCH]
    collect_ignore.append("src/plugplay/denoisers/net/module.py")
if not importlib.util.find_spec("onnxruntime"):
    collect_ignore.append("src/plugplay/denoisers/net/denoiser.py")
if not importlib.util.find_spec("magicgui"):
    collect_ignore.append("src/plugplay/napari/widget.py")
if not importlib.util.find_spec("starlette"):
    collect_ignore += ["src/plugplay/web", "tests/web"]
