"""What the tests of networks share; the others run without PyTorch."""

import importlib.util

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    """Steps on tiny patches take far longer with threads that wait for each other."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def flat_weights():
    """A function that returns all weights of a trainer's network as one array."""
    import torch

    return lambda trainer: torch.cat([w.detach().flatten() for w in trainer.network.parameters()]).numpy().copy()
