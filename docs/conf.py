"""Sphinx configuration: MyST pages, numpydoc reference, executed gallery; nothing is loaded from elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

import plugplay

# The gallery's figures and fields are drawn without a display, and one thread of BLAS is fastest on small images.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")
# That something is compiled on first use belongs to no example.
logging.getLogger("plugplay").setLevel("ERROR")

project = "plugplay"
author = "The plugplay developers"
copyright = "the plugplay developers"  # noqa: A001
version = release = plugplay.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "outside_pages",
    "thumbnails",
    "commands",
]
exclude_patterns = ["_build", "tools", "gallery/*.py", "gallery/*.ipynb", "gallery/*.json", "**/sg_execution_times*"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
root_doc = "index"

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4

# Quotes and ellipses, but no dashes: options begin with two hyphens.
smartquotes_action = "qe"

# Names in backticks are links where there is something to link to.
default_role = "py:obj"
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 600,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "thumbnail_size": (400, 280),
    "plot_gallery": os.environ.get("PLUGPLAY_GALLERY", "1") != "0",
}
suppress_warnings = ["config.cache"]

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "plugplay"
html_static_path = ["_static"]
html_css_files = ["plugplay.css"]
html_js_files = [("compare.js", {"defer": "defer"})]
html_favicon = "_static/icon.svg"
html_logo = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "plugplay"},
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "header_links_before_dropdown": 4,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_sidebars = {page: [] for page in ("index", "theory", "benchmarks", "reproduce")}

# What is not ours warns about itself: a warning of plugplay's own in an example is an error.
warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"(?!plugplay)")
