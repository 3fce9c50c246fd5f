"""What stored results of `peers.py` depend on besides data and settings: the code."""

from functools import cache
from pathlib import Path

from driftglm.evaluation.fingerprint import digest, library_fingerprint


@cache
def code_digest():
    """Hash of the library, adapters included, of what it builds on, and of these benchmarks."""
    files = sorted(Path(__file__).parent.glob("peer*.py"))
    return digest(library_fingerprint(), {path.name: path.read_text() for path in files})
