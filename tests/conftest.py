"""What all tests need of the process that runs them."""

from __future__ import annotations

import signal

# A shell that starts the tests in the background has Ctrl-C ignored, and all processes inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
