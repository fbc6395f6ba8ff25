"""``python -m liqdata`` is the command ``liqdata``."""

import sys

from .cli import main

sys.exit(main())
