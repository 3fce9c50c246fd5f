"""The gate fails for what is slower by a ratio and in seconds, and only then."""

import subprocess

import gate


def test_both_a_ratio_and_seconds_are_needed():
    before = {"quick": 0.01, "long": 10.0, "slower": 1.0, "faster": 2.0}
    after = {"quick": 0.1, "long": 12.0, "slower": 1.6, "faster": 0.5}
    assert gate.slower(before, after) == ["slower"]


def test_without_a_base_nothing_is_compared(monkeypatch, capsys):
    def no_git(*_):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(gate, "git", no_git)
    monkeypatch.setattr("sys.argv", ["gate.py", "--base", "nowhere"])
    assert gate.main() == 0
    assert "not compared" in capsys.readouterr().out


def test_a_slower_case_fails_the_job(monkeypatch, capsys):
    monkeypatch.setattr(gate, "git", lambda *_: "something")
    monkeypatch.setattr(gate, "compare", lambda _: ["words"])
    monkeypatch.setattr("sys.argv", ["gate.py"])
    assert gate.main() == 1
    assert "words" in capsys.readouterr().out
