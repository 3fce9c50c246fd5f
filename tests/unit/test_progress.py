"""Progress on stderr, where it is wanted."""

from driftglm._progress import counted, is_shown, progress_bar


def test_a_log_file_sees_no_bar_unless_asked(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    assert not is_shown(None)
    assert is_shown(True)
    assert list(counted("abc", 3, "reading", verbose=None)) == ["a", "b", "c"]
    assert capsys.readouterr().err == ""


def test_items_are_counted_one_by_one(capsys):
    assert list(counted(iter([4, 5]), 2, "reading [x]", verbose=True)) == [4, 5]
    written = capsys.readouterr()
    assert "reading [x]" in written.err
    assert "2/2" in written.err
    assert written.out == ""


def test_bytes_are_shown_as_such(capsys):
    with progress_bar(2000, "reading", verbose=True, in_bytes=True) as advance:
        advance(2000)
    assert "2.0/2.0 kB" in capsys.readouterr().err
