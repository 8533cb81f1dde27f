"""What people look at: the curves of a run, a result in a notebook, and a progress bar."""
