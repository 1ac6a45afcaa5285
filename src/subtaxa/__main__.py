"""Entry point of `python -m subtaxa`."""

import sys

from subtaxa.cli.main import main

sys.exit(main())
