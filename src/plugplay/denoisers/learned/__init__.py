"""Learned denoisers: published networks with weights from a local file, and any PyTorch module.

PyTorch is an extra, imported only when one of these is made: ``pip install 'plugplay[torch]'``.
"""
