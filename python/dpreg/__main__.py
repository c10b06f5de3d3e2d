"""`python -m dpreg`."""

import sys

from dpreg.cli import main

sys.exit(main())
