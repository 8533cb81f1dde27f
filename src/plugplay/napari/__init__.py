"""The plug-in for napari: a widget that restores the selected layer, and sample data.

napari finds it by the manifest, ``napari.yaml``. Nothing here is imported by the rest of plugplay, and no Qt is chosen:
that is up to whoever installs napari.
"""
