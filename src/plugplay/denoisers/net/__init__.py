"""BM3D, corrected by a small network: gray and colour, any noise level, run by ONNX Runtime."""

from plugplay.denoisers.net.denoiser import Net

__all__ = ["Net"]
