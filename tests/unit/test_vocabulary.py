"""Ranked words: which they are, in what order, and that streaming changes nothing."""

import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from driftglm import DriftTextModel
from driftglm.exceptions import DataError, DataWarning
from driftglm.text import RankedVocabulary
from driftglm.text.vocabulary import LETTERS_AND_DIGITS

TOKENS = r"\S+"

# the 4, risk 3, loss 2, of 2, a 1, b2b 1, net 1, year 1
DOCUMENTS = ["The risk of the LOSS", "the risk of a loss.", "the net-risk: B2B # year"]


@pytest.fixture
def many(rng):
    """Two hundred documents of words whose frequencies differ by Zipf's law."""
    words = np.array([f"w{i}" for i in range(300)])
    share = 1 / np.arange(1, 301)
    return [" ".join(rng.choice(words, 80, p=share / share.sum())) for _ in range(200)]


def in_batches(documents, size):
    return [documents[i : i + size] for i in range(0, len(documents), size)]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 1, ["the"]),
        (2, 4, ["risk", "loss", "of"]),
        (3, 6, ["loss", "of", "a", "b2b"]),
        (5, None, ["a", "b2b", "net", "year"]),
        (8, 8, ["year"]),
    ],
)
def test_ranks_are_those_counted_by_hand_and_ties_go_by_word(first, last, expected):
    words = RankedVocabulary(first=first, last=last).fit(DOCUMENTS)
    assert words.get_feature_names_out().tolist() == expected
    assert words.vocabulary_ == {word: j for j, word in enumerate(expected)}
    assert words.n_documents_ == 3


def test_values_are_indicators_or_counts():
    documents = ["risk risk", "loss of risk and loss, loss", "", "unseen words"]
    binary = RankedVocabulary(first=2, last=4).fit(DOCUMENTS).transform(documents)
    assert_array_equal(binary.toarray(), [[1, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert binary.dtype == np.float64
    words = RankedVocabulary(first=2, last=4, binary=False, dtype=np.int32).fit(DOCUMENTS)
    counts = words.transform(documents)
    assert_array_equal(counts.toarray(), [[2, 0, 0], [1, 3, 1], [0, 0, 0], [0, 0, 0]])
    assert counts.dtype == np.int32
    assert counts.format == "csr"


@pytest.mark.parametrize("binary", [True, False])
def test_the_matrix_is_that_of_count_vectorizer(binary, many):
    words = RankedVocabulary(first=11, last=150, binary=binary).fit(many)
    peer = CountVectorizer(
        vocabulary=words.vocabulary_, binary=binary, token_pattern=LETTERS_AND_DIGITS
    )
    ours, theirs = words.transform(many), peer.transform(many)
    assert ours.has_canonical_format
    assert ours.indices.dtype == ours.indptr.dtype == np.int32
    assert (ours != theirs).nnz == 0


def test_the_defaults_are_the_ranks_of_the_forecasting_experiment():
    words = RankedVocabulary()
    assert (words.first, words.last, words.binary) == (101, 10101, True)
    # w00000-w00099 are in every text; from there on each 100 words are in one text less.
    texts = [" ".join(f"w{i:05d}" for i in range(n)) for n in range(100, 10_300, 100)]
    names = words.fit(texts).get_feature_names_out()
    assert len(names) == 10_001
    assert (names[0], names[-1]) == ("w00100", "w10100")


def test_batches_give_what_one_pass_gives(many):
    whole = RankedVocabulary(first=5, last=120).fit(many)
    batches = RankedVocabulary(first=5, last=120)
    for batch in in_batches(many, 7):
        batches.partial_fit(batch)
    assert list(batches.vocabulary_.items()) == list(whole.vocabulary_.items())
    assert batches.word_counts_ == whole.word_counts_
    assert batches.n_documents_ == 200
    # The vocabulary follows when more documents come, also after it was asked for.
    batches.partial_fit(["w299 " * 10_000])
    assert batches.word_counts_["w299"] > 10_000
    assert "w299" not in batches.vocabulary_
    assert whole.fit(many[:50]).n_documents_ == 50


def test_the_order_of_documents_does_not_matter(many):
    ahead = RankedVocabulary(first=5, last=120).fit(many)
    back = RankedVocabulary(first=5, last=120).fit(many[::-1])
    assert list(ahead.vocabulary_) == list(back.vocabulary_)


def test_streams_and_files_give_what_lists_give(many, tmp_path):
    whole = RankedVocabulary(first=5, last=120, binary=False)
    expected = whole.fit_transform(many)
    stream = RankedVocabulary(first=5, last=120, binary=False).fit(text for text in many)
    assert (stream.transform(text for text in many) != expected).nnz == 0
    paths = [tmp_path / f"{i}.txt" for i in range(len(many))]
    for path, text in zip(paths, many, strict=True):
        path.write_text(text)
    files = RankedVocabulary(first=5, last=120, binary=False, input="filename")
    assert (files.fit_transform(paths) != expected).nnz == 0
    assert (files.transform(map(str, paths)) != expected).nnz == 0


def test_documents_are_not_kept():
    alive = Counter()

    class Text(str):
        __slots__ = ()

        def __new__(cls, value):
            alive["now"] += 1
            alive["most"] = max(alive["most"], alive["now"])
            return super().__new__(cls, value)

        def __del__(self):
            alive["now"] -= 1

    RankedVocabulary(first=1, last=None).fit(Text(f"word{i % 9}") for i in range(500))
    assert alive["most"] <= 2


def test_what_a_word_is_can_be_said():
    text = ["The company's net_loss is # 3.5"]
    default = RankedVocabulary(first=1, last=None).fit(text)
    assert sorted(default.vocabulary_) == ["3", "5", "company", "is", "loss", "net", "s", "the"]
    tokens = RankedVocabulary(first=1, last=None, lowercase=False, token_pattern=TOKENS).fit(text)
    assert sorted(tokens.vocabulary_) == ["#", "3.5", "The", "company's", "is", "net_loss"]
    split = RankedVocabulary(first=1, last=None, tokenizer=str.split).fit(text)
    assert sorted(split.vocabulary_) == ["#", "3.5", "company's", "is", "net_loss", "the"]


def test_bytes_are_read_as_utf_8_and_damaged_ones_do_not_stop_it():
    words = RankedVocabulary(first=1, last=None).fit(["Zürich".encode(), b"\xff bar"])
    assert sorted(words.vocabulary_) == ["bar", "zürich"]


def test_it_is_a_scikit_learn_transformer(many):
    words = RankedVocabulary(first=3, last=50, token_pattern=TOKENS)
    assert clone(words).get_params() == words.get_params()
    y = np.arange(len(many)) % 5
    pipe = make_pipeline(words, Ridge()).fit(many, y)
    assert pipe.predict(many[:4]).shape == (4,)
    assert len(pipe[0].get_feature_names_out()) == 48
    copied = pickle.loads(pickle.dumps(pipe))  # noqa: S301
    assert_array_equal(copied.predict(many), pipe.predict(many))
    assert pipe.set_params(rankedvocabulary__last=20).fit(many, y)[0].vocabulary_.keys() == {
        *words.set_params(last=20).fit(many).vocabulary_
    }


def test_before_fit_there_is_nothing():
    for ask in ("get_feature_names_out", "transform"):
        with pytest.raises(NotFittedError):
            getattr(RankedVocabulary(), ask)(*([["a"]] if ask == "transform" else []))
    with pytest.raises(NotFittedError):
        _ = RankedVocabulary().vocabulary_


def test_too_few_words_are_an_error_and_fewer_than_last_a_warning():
    with pytest.raises(DataError, match="hold 8 distinct words, none of which has rank first=101"):
        RankedVocabulary().fit(DOCUMENTS)
    with pytest.raises(DataError, match="0 training documents hold 0 distinct words"):
        RankedVocabulary(first=1).fit([])
    with pytest.warns(DataWarning, match="ranks 3 to 8 are used, not to last=10101"):
        words = RankedVocabulary(first=3).fit(DOCUMENTS)
    assert len(words.vocabulary_) == 6
    early = RankedVocabulary(first=20, last=21).partial_fit(DOCUMENTS)
    with pytest.raises(DataError, match="none of which has rank first=20"):
        early.transform(DOCUMENTS)
    assert early.partial_fit([" ".join("abcdefghijklmnopqrst")]).transform(["t"]).shape == (1, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"first": 0}, "first=0, last=10101; whole numbers with 1 <= first <= last"),
        ({"first": 5, "last": 4}, "first=5, last=4"),
        ({"first": 1.5}, "first=1.5"),
        ({"first": True}, "first=True"),
        ({"last": "all"}, "last='all'"),
        ({"input": "file"}, "input='file'; 'content' and 'filename' are allowed"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(DataError, match=message):
        RankedVocabulary(**parameters).fit(DOCUMENTS)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", "documents are a single str"),
        (["a", None], "document 1 is None of type NoneType"),
        (["a", "b", float("nan")], "document 2 is nan of type float"),
    ],
)
def test_what_is_no_document_is_refused(documents, message):
    with pytest.raises(DataError, match=message):
        RankedVocabulary(first=1, last=None).fit(documents)


def test_a_batch_that_fails_leaves_no_trace():
    words = RankedVocabulary(first=1, last=None).partial_fit(DOCUMENTS)
    before = dict(words.word_counts_)
    with pytest.raises(DataError, match="document 1"):
        words.partial_fit(["more words", 3])
    assert (dict(words.word_counts_), words.n_documents_) == (before, 3)


def test_missing_files_are_named(tmp_path):
    words = RankedVocabulary(first=1, last=None, input="filename")
    with pytest.raises(DataError, match=r"document 0, the file '.*gone.txt', cannot be read"):
        words.fit([tmp_path / "gone.txt"])


def test_an_iterator_cannot_be_fitted_and_transformed_at_once():
    with pytest.raises(DataError, match="got a generator, which is used up after one pass"):
        RankedVocabulary(first=1, last=3).fit_transform(text for text in DOCUMENTS)


def test_pairs_and_stop_words():
    texts = ["the discount rate of the bank", "an discount rate"]
    words = RankedVocabulary(first=1, last=None, ngrams=2, stop_words="english").fit(texts)
    assert set(words.vocabulary_) == {"discount", "rate", "discount rate", "bank", "rate bank"}
    words = RankedVocabulary(first=1, last=None, stop_words=["the", "of", "an"]).fit(texts)
    assert set(words.vocabulary_) == {"discount", "rate", "bank"}
    for wrong in ({"ngrams": 0}, {"ngrams": 1.5}, {"stop_words": "german"}):
        with pytest.raises(DataError, match=r"allowed|list of words"):
            RankedVocabulary(first=1, last=None, **wrong).fit(texts)


def test_no_message_holds_a_document():
    text = "a secret that nobody may read in a log " * 5
    with pytest.raises(DataError) as caught:
        RankedVocabulary(input="filename").fit([text])
    assert text not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_indicators_in_place_of_counts_are_warned_of():
    rng = np.random.default_rng(0)
    counts = sp.csr_array(rng.poisson(2.0, size=(12, 60)).astype(float))
    effects, time = rng.normal(size=(12, 1)), np.repeat([1, 2], 6)
    with pytest.warns(DataWarning, match=r"all 0 or 1.*binary=False"):
        DriftTextModel(prior="fixed").fit((counts > 0).astype(float), effects, time=time)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        DriftTextModel(prior="fixed").fit(counts, effects, time=time)
