"""Tables in files become features, models of tables and shards of rows."""

from driftglm.data.shards import Manifest, read_manifest
from driftglm.tables.encoder import TableEncoder, TableSpec, fit_encoder
from driftglm.tables.model import TableModel, fit_table
from driftglm.tables.reading import Table, read_data
from driftglm.tables.shards import iterate_shards, write_shards
from driftglm.tables.writing import write_table

__all__ = [
    "Manifest",
    "Table",
    "TableEncoder",
    "TableModel",
    "TableSpec",
    "fit_encoder",
    "fit_table",
    "iterate_shards",
    "read_data",
    "read_manifest",
    "write_shards",
    "write_table",
]
