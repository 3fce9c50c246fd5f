"""Years that follow from a corpus and from the paper."""

from driftglm.experiments import Settings
from driftglm.experiments.paper import TEXT


def test_the_paper_years_are_used_where_the_corpus_has_them():
    chosen = Settings().resolved(range(1996, 2007), TEXT)
    assert (chosen.dev, chosen.test, chosen.ranks) == (2003, (2004, 2005, 2006), (501, 5501))
