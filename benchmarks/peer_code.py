"""What stored results of `peers.py` depend on besides data and settings: the code."""

from functools import cache
from pathlib import Path

from driftglm.evaluation.fingerprint import digest, library_fingerprint


@cache
def code_digest():
    """Hash of the library, of what it builds on, and of these benchmarks, adapters included."""
    folder = Path(__file__).parent
    files = sorted([*folder.glob("peer*.py"), *folder.glob("peer_fits/*.py")])
    texts = {str(path.relative_to(folder)): path.read_text() for path in files}
    return digest(library_fingerprint(), texts)
