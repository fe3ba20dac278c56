"""The browser these tests drive, where there is one."""

import shutil

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
