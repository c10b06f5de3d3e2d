"""`python -m dpreg`."""

import sys

from dpreg.cli.commands import main

sys.exit(main())
