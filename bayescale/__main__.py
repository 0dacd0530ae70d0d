"""``python -m bayescale``."""

from bayescale.cli import run

run()
