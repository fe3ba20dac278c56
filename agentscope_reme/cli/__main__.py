"""``python -m agentscope_reme.cli`` is ``agentscope-reme``."""

import sys

from agentscope_reme.cli.main import main

sys.exit(main())
