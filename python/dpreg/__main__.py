"""`python -m dpreg`."""

import sys

from dpreg.faces.cli.commands import main

sys.exit(main())
