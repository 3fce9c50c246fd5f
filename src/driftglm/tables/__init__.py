"""Tables in files become features, models of tables and shards of rows."""

from driftglm.data.shards import Manifest, read_manifest
from driftglm.tables.encoder import TableEncoder, TableSpec, encode, fit_encoder
from driftglm.tables.formula import FormulaModel, from_formula
from driftglm.tables.frames import FrameEncoder
from driftglm.tables.layout import Layout
from driftglm.tables.model import TableModel, Training, fit_encoded, fit_table, read_training
from driftglm.tables.reading import Table, read_data
from driftglm.tables.shards import iterate_shards, write_shards
from driftglm.tables.writing import write_table

__all__ = [
    "FormulaModel",
    "FrameEncoder",
    "Layout",
    "Manifest",
    "Table",
    "TableEncoder",
    "TableModel",
    "TableSpec",
    "Training",
    "encode",
    "fit_encoded",
    "fit_encoder",
    "fit_table",
    "from_formula",
    "iterate_shards",
    "read_data",
    "read_manifest",
    "read_training",
    "write_shards",
    "write_table",
]
