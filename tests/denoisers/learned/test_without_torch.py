"""Where PyTorch is missing, learned denoisers say what to install, and nothing else needs it."""

import subprocess
import sys

import pytest

HIDE = "import sys; sys.modules['torch'] = None\nimport plugplay as pp\n"


@pytest.mark.parametrize(
    "call",
    ["pp.denoisers.get('drunet', weights='w.pth')", "pp.denoisers.from_torch(object())"],
    ids=["published", "own"],
)
def test_the_error_names_the_extra(call):
    code = f"{HIDE}try:\n    {call}\nexcept ImportError as error:\n    print(error)"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "learned denoisers need torch, which is not installed: pip install 'plugplay[torch]'"


def test_torch_is_imported_only_when_used():
    code = "import sys, plugplay.denoisers as d; d.available(); d.from_torch; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
