"""What a user may choose about an experiment, and which years follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from driftglm.exceptions import DataError
from driftglm.experiments.paper import CONTESTANTS, EVERYONE, PaperTable

Vocabulary = Literal["both", "all", "training"]
ALL, TRAINING = "all", "training"
N_TEST = 3
LEAST_YEARS = 3


@dataclass(frozen=True)
class Settings:
    """Choices about an experiment; the defaults are the paper's.

    Parameters
    ----------
    models
        Contestants; eight by default. Forecasting also knows "paper", the paper's own algorithm,
        and "forecast", the learned prior that trusts its drift.
    dev
        Year on which baselines are tuned: the paper's where the corpus has it, else the year
        before the first test year.
    test
        Test years: the paper's where the corpus has them all, else the last three.
    years
        First and last year to read; all by default.
    ranks
        First and last frequency rank of the words used.
    vocabulary
        "all": words are ranked in all documents, as the paper did, test documents included.
        "training": in the documents before each origin. "both": one after the other.

    Examples
    --------
    >>> Settings(models=("lasso-all", "learned"), ranks=(101, 1100)).variants
    ('all', 'training')
    """

    models: tuple[str, ...] = CONTESTANTS
    dev: int | None = None
    test: tuple[int, ...] | None = None
    years: tuple[int, int] | None = None
    ranks: tuple[int, int] | None = None
    vocabulary: Vocabulary = "both"

    def __post_init__(self) -> None:
        unknown = [name for name in self.models if name not in EVERYONE]
        if unknown or not self.models:
            found = f"{unknown[0]!r} is no contestant" if unknown else "models is empty"
            raise DataError(f"{found}; {', '.join(EVERYONE)} are allowed.")
        if self.vocabulary not in {"both", ALL, TRAINING}:
            raise DataError(f"vocabulary={self.vocabulary!r}; 'both', 'all' or 'training'.")
        if self.test is not None and not self.test:
            raise DataError("test is empty; name at least one year, or None for the default.")
        for name, pair, least in (("ranks", self.ranks, 1), ("years", self.years, 0)):
            if pair is not None and not least <= pair[0] <= pair[1]:
                raise DataError(f"{name}={pair}; pass a first and a last one, in this order.")

    @property
    def variants(self) -> tuple[str, ...]:
        """Ways to choose the vocabulary, in the order they are run."""
        return (ALL, TRAINING) if self.vocabulary == "both" else (self.vocabulary,)

    def resolved(self, found: Sequence[int], paper: PaperTable) -> Settings:
        """Settings with nothing left open, for a corpus of the years `found`."""
        first, last = self.years or (min(found), max(found))
        known = sorted({year for year in found if first <= year <= last})
        test = tuple(sorted(set(self.test))) if self.test else _test_years(known, self.dev, paper)
        dev = _dev_year(known, self.dev, test[0])
        missing = [year for year in test if year not in known or year <= dev]
        if missing:
            raise DataError(
                f"test year {missing[0]} is not among the years read ({_shown(known)}), or not "
                f"after the dev year {dev}; choose others."
            )
        names = tuple(name for name in EVERYONE if name in self.models)
        used = known[0], test[-1]
        return Settings(names, dev, test, used, self.ranks or paper.ranks, self.vocabulary)

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON."""
        pairs = asdict(self).items()
        return {name: list(v) if isinstance(v, tuple) else v for name, v in pairs}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Settings:
        """What `to_dict` gave."""
        pairs = content.items()
        given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in pairs}
        return cls(**given)


def _dev_year(known: list[int], dev: int | None, first_test: int) -> int:
    """The one asked for, else the last before the test years; a year to train on comes before."""
    if dev is None:
        dev = max((year for year in known if year < first_test), default=None)
    if dev is None or dev not in known or dev == known[0]:
        raise DataError(
            f"the years {_shown(known)} leave no year to train on before the dev year and the "
            f"test year {first_test}; {LEAST_YEARS} or more are needed, in the order training, "
            "dev, test. Read more years, or choose later ones."
        )
    return dev


def _test_years(known: list[int], dev: int | None, paper: PaperTable) -> tuple[int, ...]:
    """The paper's, if the corpus has them and years before; else the last three, or fewer."""
    if {paper.dev, *paper.test} <= set(known) and min(known) < paper.dev and dev is None:
        return paper.test
    if dev is not None:
        after = [year for year in known if year > dev]
        if not after:
            raise DataError(f"no year after dev={dev} is there ({_shown(known)}); choose earlier.")
        return tuple(after[-N_TEST:])
    number = min(N_TEST, len(known) - 2)
    if number < 1:
        raise DataError(
            f"the years {_shown(known)} are too few: one to train on, one to tune on and one to "
            "test are needed."
        )
    return tuple(known[-number:])


def _shown(years: list[int]) -> str:
    return ", ".join(map(str, years)) or "(none)"
