"""Arrays and plain facts in one file: a zip of .npy and JSON, checked when read, never pickled.

``model.json`` names the format, the facts, and size and SHA-256 of every array; its own SHA-256 is
the zip's comment, so that no byte of content can change unseen. Sizes are compared with each
other and with a limit before memory is asked for.
"""

from driftglm.files.layout import DamagedFileError, StrPath, check_regular
from driftglm.files.reading import load, unpack
from driftglm.files.storable import Storable
from driftglm.files.writing import pack, save, sync_folder, write_atomically

__all__ = [
    "DamagedFileError",
    "Storable",
    "StrPath",
    "check_regular",
    "load",
    "pack",
    "save",
    "sync_folder",
    "unpack",
    "write_atomically",
]
