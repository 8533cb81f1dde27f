"""BM3D: block-matching and 3-D filtering, for gray and colour images."""

from plugplay.denoisers.bm3d.denoiser import BM3D

__all__ = ["BM3D"]
