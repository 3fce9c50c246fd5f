"""Model files: estimators, baselines, vocabularies and comparisons to disk and back."""

from driftglm.persistence.models import load, save

__all__ = ["load", "save"]
