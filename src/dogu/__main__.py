"""`python -m dogu`."""

import sys

from dogu.cli import main

sys.exit(main())
