"""The benchmark command: a small contest, what it prints, and what it refuses."""

from pathlib import Path

FEW = ("--features", "10", "--rows", "20", "--steps", "3")
TWO = ("--peers", "driftglm learned,sklearn ridge-all")


def test_json_has_every_contestant_with_its_version(run):
    found = run("bench", *FEW, *TWO, "--json").json
    assert found["world"]["features"] == 10
    assert {"driftglm", "scikit-learn", "numpy"} <= set(found["versions"])
    assert [result["peer"] for result in found["results"]] == [
        "driftglm learned",
        "sklearn ridge-all",
    ]
    for result in found["results"]:
        assert result["status"] in {"finished", "not converged"}
        assert result["seconds"] > 0
        assert result["loss"] > 0


def test_table_is_printed_and_written(run):
    ran = run(
        "bench", *FEW, "--peers", "sklearn ridge-all,pydlm", "--family", "binomial", "-o", "t.md"
    )
    lines = ran.out.splitlines()
    assert lines[0].startswith("log loss of the step after the last; 3 steps of 20 rows")
    assert lines[2].startswith("sklearn ridge-all ")
    assert lines[3].split()[:3] == ["pydlm", "not", "applicable"]
    assert "no such model of classes" in lines[3]
    page = Path("t.md").read_text()
    assert "| pydlm | not applicable |" in page
    assert "scikit-learn" in page


def test_a_fit_over_its_limit_is_a_result(run):
    words = ("--features", "400", "--rows", "500", "--peers", "sklearn lasso-all")
    found = run("bench", *words, "--seconds", "0.1", "--family", "binomial", "--json").json
    assert found["results"][0]["status"] == "not finished"
    assert found["results"][0]["note"] == "not finished in 0.1 s"


def test_what_cannot_be_run_is_refused_before_anything_runs(run):
    assert "there is no peer 'prophet'" in run("bench", "--peers", "prophet", code=None).error()
    assert "does not exist" in run("bench", "-o", "nowhere/t.md", code=None).error()
    for words in (("--seed", "-1"), ("--features", "9"), ("--steps", "2")):
        ran = run("bench", *words, code=2)
        assert f"Invalid value for '{words[0]}'" in ran.err
        assert "Traceback" not in ran.err


def test_sizes_that_are_given_override_those_of_a_quick_run(run):
    words = ("bench", "--quick", "--peers", "sklearn ridge-all", "--json")
    assert run(*words, "--features", "12", "--steps", "3").json["world"] == {
        "features": 12,
        "rows_per_step": 40,
        "steps": 3,
        "seed": 0,
        "family": "gaussian",
    }
    quick = run(*words).json["world"]
    assert (quick["features"], quick["rows_per_step"], quick["steps"]) == (30, 40, 5)


def test_contestants_for_text_are_not_listed(run):
    found = run("bench", *FEW, "--peers", "driftglm", "--json").json
    assert [result["peer"] for result in found["results"]] == ["driftglm learned", "driftglm exact"]
