"""Corpora and tables: read from files as they are published, checked, with a record of the work."""

from driftglm.datasets.corpus import TextCorpus
from driftglm.datasets.districts import federal_reserve_districts
from driftglm.datasets.fred import read_fred
from driftglm.datasets.fred_md import FredMD, read_fred_md
from driftglm.datasets.french import FrenchPortfolios, read_french_portfolios
from driftglm.datasets.provenance import Check, Provenance, Table
from driftglm.datasets.tenk import load_10k_corpus
from driftglm.datasets.tenk_counts import CountedReports, load_counted_reports
from driftglm.datasets.text_panel import load_text_panel

__all__ = [
    "Check",
    "CountedReports",
    "FredMD",
    "FrenchPortfolios",
    "Provenance",
    "Table",
    "TextCorpus",
    "federal_reserve_districts",
    "load_10k_corpus",
    "load_counted_reports",
    "load_text_panel",
    "read_fred",
    "read_fred_md",
    "read_french_portfolios",
]
