"""``python -m agentscope_reme`` is ``agentscope-reme``."""

import sys

from agentscope_reme.cli import main

if __name__ == "__main__":
    sys.exit(main())
