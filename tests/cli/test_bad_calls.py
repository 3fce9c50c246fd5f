"""Five hundred calls with mistakes in them: one line each, no traceback, nothing overwritten."""

import random

import pytest

N_CALLS = 500
NAMES = [
    "",
    " ",
    "nope",
    "price ",
    "PRICE",
    "price,size",
    "a=b",
    "*",
    "0",
    "-1",
    "é",
    "x" * 300,
    "'",
]
BAD = {
    "--target": NAMES,
    "--time": [*NAMES, "colour"],
    "--freq": ["0", "-3", "Z", "monthly", "M M", "99999999999999999999", ""],
    "--family": ["", "normal", "gaussain", "Poisson"],
    "--prior": ["", "lasso", "Learned()"],
    "--weights": [*NAMES, "colour", "noise"],
    "--exposure": [*NAMES, "size"],
    "--trials": [*NAMES, "colour"],
    "--text": ["nope", "size", "year"],
    "--vocabulary": ["", "1", "a:b", "5:1:2", "-1:3"],
    "--drop": ["nope", "size,nope", "price"],
    "--categorical": ["nope", "price,nope"],
    "--always-in": ["nope", "colour=purple"],
    "--static": ["nope"],
    "--features": ["nope*", "z?", "size,nope"],
    "--missing": ["", "guess", "MEAN"],
    "--reference": ["colour", "=red", "colour=", "colour=purple", "nope=1"],
    "--rare": ["0", "-1", "x", "1.5"],
    "--sep": ["", "::", "ab"],
    "--encoding": ["klingon", "", "utf-9"],
    "--decimal": ["", ";", "..", "x"],
    "--thousands": ["", "5", "ab"],
    "--date-format": ["", "%Q", "year", "%d.%m"],
    "--test": ["", "x", "1999", "2004:2001", "2001:2:3", "2050", "99999999999999"],
    "--dev": ["x", "2050", "2001,2002", ""],
    "--n-test": ["0", "-1", "x", "400"],
    "--models": ["", "nope", "ridge", ",", "learned,nope"],
    "--metric": ["", "nope", "accuracy!"],
    "--jobs": ["0", "x"],
    "--interval": ["0", "1", "1.5", "-1", "x", "nan"],
    "--keep": ["nope", "prediction"],
    "--frobnicate": ["1"],
}
FIT_ONLY = {"--prior", "--always-in", "--static"}
COMPARE_ONLY = {"--test", "--dev", "--n-test", "--models", "--metric", "--jobs"}
PREDICT_ONLY = {"--interval", "--keep"}
SHARED = ["--sep", "--encoding", "--decimal", "--thousands", "--date-format", "--frobnicate"]
FILES = [
    "missing.csv",
    "empty.csv",
    "header.csv",
    "noise.bin",
    "folder",
    "broken.parquet",
    "a.docx",
    "broken.csv.gz",
    "broken.zip",
    "broken.xlsx",
    "broken.dta",
    "broken.feather",
    "twice.csv",
]


def calls(seed, n_calls):
    """Commands, each with at least one mistake."""
    rng = random.Random(seed)  # noqa: S311
    table = [name for name in BAD if name not in FIT_ONLY | COMPARE_ONLY | PREDICT_ONLY]
    for _ in range(n_calls):
        command = rng.choice(["fit", "fit", "compare", "predict", "report", "text"])
        file = rng.choice(FILES) if rng.random() < 0.3 else "sales.csv"
        if command == "report":
            yield [
                "report",
                rng.choice([*FILES, "sales.csv"]),
                "-o",
                rng.choice(["r.html", "sales.csv"]),
            ]
        elif command == "text":
            words = rng.choice(
                [
                    ["fit", file, "--text", "nope"],
                    ["fit", file],
                    ["top-words", "m.drift", "--effect", "x"],
                    ["top-words", file, "--effect", ""],
                ]
            )
            yield ["text", *words, *([] if words[0] == "top-words" else ["-o", "w.drift"])]
        elif command == "predict":
            option = rng.choice([*PREDICT_ONLY, *SHARED, "--time"])
            model = rng.choice(["m.drift", "m.drift", "sales.csv", "missing.drift", "noise.bin"])
            yield [
                "predict",
                model,
                file,
                option,
                rng.choice(BAD[option]),
                "-o",
                rng.choice(["out.csv", "sales.csv", "m.drift"]),
            ]
        else:
            own = FIT_ONLY if command == "fit" else COMPARE_ONLY
            wrong = rng.sample([*table, *own], rng.choice([1, 1, 2]))
            words = {"--target": "price", "--time": "year"}
            words |= {"--n-test": "1"} if command == "compare" else {}
            words |= {name: rng.choice(BAD[name]) for name in wrong}
            out = rng.choice(["m.drift", "sales.csv"]) if command == "fit" else "results"
            yield [command, file, *(word for pair in words.items() for word in pair), "-o", out]


@pytest.fixture
def folder(run, rows, tmp_path):
    """A table, a model of it, and files that are none."""
    rows.to_csv("sales.csv", index=False)
    run(
        "fit",
        "sales.csv",
        "--target",
        "price",
        "--time",
        "year",
        "-o",
        "m.drift",
        "--prior",
        "fixed",
    )
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("year,price,size\n")
    (tmp_path / "twice.csv").write_text("year,price,price\n2001,1,2\n2002,2,3\n")
    (tmp_path / "folder").mkdir()
    for name in FILES[3:]:
        if name.startswith(("noise", "broken", "a.")):
            (tmp_path / name).write_bytes(bytes(range(256)) * 3)
    return tmp_path


@pytest.mark.parametrize("part", range(5))
def test_a_bad_call_is_one_line_and_overwrites_nothing(part, run, folder):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    kept = [folder / "sales.csv", folder / "m.drift"]
    n_refused = 0
    for words in calls(part, N_CALLS // 5):
        ran = run(*words, code=None)
        assert ran.code in {0, 2}, (words, ran.code, ran.err)
        assert "Traceback" not in ran.err + ran.out, words
        n_refused += ran.code == 2
        if ran.code == 2:
            assert [line for line in ran.err.splitlines() if line.strip()], words
            changed = [path.name for path in kept if path.read_bytes() != before[path]]
            assert not changed, (words, changed)
        elif (folder / "m.drift").read_bytes() != before[folder / "m.drift"]:
            (folder / "m.drift").write_bytes(before[folder / "m.drift"])
        assert (folder / "sales.csv").read_bytes() == before[folder / "sales.csv"], words
    # Some mistakes are none ("*" drops every column but one): they must be few.
    assert n_refused > 0.85 * N_CALLS / 5
