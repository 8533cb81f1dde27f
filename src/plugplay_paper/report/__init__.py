"""Reports: what a section consists of, and how it is written as HTML, JSON and CSV."""
