"""``python -m tape`` is the ``tape`` command."""

import sys

from tape.cli import main

sys.exit(main())
