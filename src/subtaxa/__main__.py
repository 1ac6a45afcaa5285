"""`python -m subtaxa`."""

import sys

from subtaxa.cli import main

sys.exit(main())
