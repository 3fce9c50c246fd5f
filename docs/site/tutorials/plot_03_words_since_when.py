"""
Who uses which words, and since when?
=====================================

*Two newspapers, six years: which words are one's own, and when did that begin?* From raw
documents to a picture. The documents are written here, by two authors whose taste we know: the
*Herald* writes of farms, the *Courier* of ports, and from the third year on the *Courier* also of
"crisis".
"""

import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
common = [f"word{i:02}" for i in range(60)]
taste = {"Herald": ["farm", "harvest", "cattle"], "Courier": ["port", "ship", "cargo"]}


def document(source, year):
    weights = np.geomspace(1, 0.1, len(common))
    words = [*common, *taste["Herald"], *taste["Courier"], "crisis"]
    own = [0.8 if word in taste[source] else 0.1 for words_ in taste.values() for word in words_]
    crisis = 0.15 * (year - 2002) if source == "Courier" and year > 2002 else 0.05
    weights = np.array([*weights, *own, crisis])
    return " ".join(rng.choice(words, size=120, p=weights / weights.sum()))


years = np.repeat(np.arange(2001, 2007), 60)
papers = pd.DataFrame({"year": years, "source": rng.choice(list(taste), size=years.size)})
papers["text"] = [document(*row) for row in zip(papers["source"], papers["year"], strict=True)]
papers.head(3)

# %%
# Words become columns by their rank, here all of them. There is no list of stop words: with
# ``first=101`` the hundred most frequent would be left out. Ranks are those of the documents the
# vocabulary is fitted to, so that a test year never leaks into it.
from driftglm import DriftTextModel
from driftglm.text import RankedVocabulary

vocabulary = RankedVocabulary(first=1, last=None, binary=False)
counts = vocabulary.fit_transform(papers["text"])
words = vocabulary.get_feature_names_out()

# %%
# What is known about a document is an *effect*. Here it is the newspaper.
effects = pd.DataFrame({"Courier": (papers["source"] == "Courier").astype(float)})
model = DriftTextModel(vocabulary=words).fit(counts, effects, time=papers["year"])
model.top_words("Courier", k=4)

# %%
# Since when? The paths say it: the ports were there all along, "crisis" came. Beside each
# coefficient stands its standard deviation.
places = {word: list(words).index(word) for word in ("port", "crisis")}
pd.DataFrame(
    {
        f"{word}, {what}": path[:, 0, place]
        for word, place in places.items()
        for what, path in (("coefficient", model.coef_path_), ("deviation", model.coef_std_path_))
    },
    index=model.timesteps_,
).round(2)

# %%
model.plot_words("Courier")

# %%
# A word that one paper uses is one the other does not: effects are deviations from the average of
# both. And documents that copy each other would count as one (*bursts*, in the guide to text).
