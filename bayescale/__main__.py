"""``python -m bayescale``."""

import sys

from bayescale.cli import main

sys.exit(main())
