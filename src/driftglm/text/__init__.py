"""Texts become counts of words."""

from driftglm.text.vocabulary import RankedVocabulary

__all__ = ["RankedVocabulary"]
