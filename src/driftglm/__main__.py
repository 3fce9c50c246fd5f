"""`python -m driftglm` is the command `driftglm`."""

from __future__ import annotations

import os
import signal


def _leave(*_: object) -> None:
    """End at once, in one line: nothing has begun that would have to be undone."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def run() -> None:
    """Entry point of the script `driftglm`: Ctrl-C is no traceback before a command runs."""
    before = signal.signal(signal.SIGINT, _leave)
    from driftglm.cli.main import prepared

    command = prepared()
    signal.signal(signal.SIGINT, before)
    try:
        command()
    except KeyboardInterrupt:  # between two lines, before the command or after it
        _leave()


if __name__ == "__main__":
    run()
