"""``python -m tests.fuzz``."""

import sys

from tests.fuzz.harness import main

sys.exit(main())
