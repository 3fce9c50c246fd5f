"""Files that are written: exact, whole or not at all, the same bytes for the same content."""

import io
import os
import stat
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.files import load, pack, save, write_atomically
from driftglm.files.layout import JSON_LIMIT


def test_content_comes_back_exactly_and_equal_content_is_equal_bytes(
    file_arrays, file_facts, tmp_path
):
    save(tmp_path / "f", file_facts, file_arrays)
    assert (tmp_path / "f").read_bytes() == pack(file_facts, file_arrays)
    facts, arrays = load(tmp_path / "f")
    assert facts == file_facts
    assert arrays.keys() == file_arrays.keys()
    for name, array in file_arrays.items():
        again = arrays[name]
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert again.tobytes() == array.tobytes()
        assert again.flags.aligned
        assert again.flags.writeable
    assert arrays["f"].flags.f_contiguous


def test_numpy_itself_can_read_the_arrays(file_arrays, file_facts, tmp_path):
    """The parts are ordinary .npy files, for whoever has no driftglm."""
    save(tmp_path / "f", file_facts, file_arrays)
    with np.load(tmp_path / "f") as parts:
        for name, array in file_arrays.items():
            np.testing.assert_array_equal(parts[name], array)


def test_own_files_of_zeros_never_look_like_bombs():
    zeros = np.zeros(2**19)
    data = pack({}, {"zeros": zeros, "small": np.zeros(100)})
    assert len(data) > zeros.nbytes  # stored as it is
    noise = np.random.default_rng(0).normal(size=1000)
    assert len(pack({}, {"a": np.tile(noise, 50)})) < 0.5 * 50 * 8000  # compressed
    with zipfile.ZipFile(io.BytesIO(pack({}, {"a": np.tile(noise, 5)}))) as archive:
        assert archive.getinfo("a.npy").compress_type == zipfile.ZIP_DEFLATED
    noise = np.random.default_rng(0).integers(0, 256, 10**5, dtype=np.uint8)
    with zipfile.ZipFile(io.BytesIO(pack({}, {"a": noise}))) as archive:
        assert archive.getinfo("a.npy").compress_type == zipfile.ZIP_STORED  # nothing to gain


def test_json_that_is_absurdly_long_is_not_written():
    with pytest.raises(DataError, match="pass long lists as arrays"):
        pack({"long": "x" * (JSON_LIMIT + 1)}, {})


def test_arrays_of_objects_cannot_be_written():
    for array in (np.array([{}]), np.zeros(2, dtype=[("x", object)]), np.zeros(3, dtype="V0")):
        with pytest.raises(ValueError, match="cannot be saved"):
            pack({}, {"a": array})


# ------------------------------------------------------------------ files on disk


def test_the_mode_is_what_the_umask_says(run_python, tmp_path):
    code = """
        import os, sys
        from driftglm.files import save
        os.umask(int(sys.argv[2], 8))
        save(sys.argv[1], {}, {})
    """
    for umask, mode in (("022", 0o644), ("077", 0o600), ("002", 0o664)):
        run_python(code, tmp_path / umask, umask)
        assert stat.S_IMODE((tmp_path / umask).stat().st_mode) == mode


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "file")
    for number in range(2):  # first it dangles, then it does not
        save(tmp_path / "link", {"number": number}, {})
        assert (tmp_path / "link").is_symlink()
        assert load(tmp_path / "link")[0] == load(tmp_path / "real" / "file")[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "real"]
    assert [p.name for p in (tmp_path / "real").iterdir()] == ["file"]


def test_places_that_cannot_be_written_say_which(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"make it before saving.*nowhere"):
        save(tmp_path / "nowhere" / "f", {}, {})
    with pytest.raises(IsADirectoryError, match="Is a folder"):
        save(tmp_path, {}, {})
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(OSError, match="no regular file"):
            save(tmp_path / "pipe", {}, {})
    monkeypatch.chdir(tmp_path)
    save("f", {}, {})
    assert (tmp_path / "f").exists()
    with pytest.raises(OSError, match="too long"):
        write_atomically(tmp_path / ("x" * 300), b"")


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="needs root to become less"
)
def test_an_unwritable_folder_is_named(run_python, tmp_path):
    code = """
        import os, sys
        from driftglm.files import save
        os.setgid(65534), os.setuid(65534)
        try:
            save(sys.argv[1], {}, {})
        except PermissionError as error:
            assert error.filename == sys.argv[1], error
        else:
            raise SystemExit("wrote it")
    """
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    run_python(code, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_many_writers_and_a_reader_never_meet_half_a_file(tmp_path):
    """Two processes replace one file again and again; whoever reads it sees one whole content."""
    path = tmp_path / "file"
    save(path, {"who": 0}, {"a": np.zeros(5000)})
    code = """
        import sys
        import numpy as np
        from driftglm.files import save
        who = int(sys.argv[2])
        for _ in range(60):
            save(sys.argv[1], {"who": who}, {"a": np.full(5000 * who, float(who))})
    """
    command = [sys.executable, "-c", textwrap.dedent(code), str(path)]
    writers = [subprocess.Popen([*command, str(who)]) for who in (1, 2)]  # noqa: S603
    seen = set()
    while any(writer.poll() is None for writer in writers):
        facts, arrays = load(path)
        assert (arrays["a"] == facts["who"]).all()
        assert arrays["a"].size == 5000 * max(facts["who"], 1)
        seen.add(facts["who"])
    assert [writer.returncode for writer in writers] == [0, 0]
    assert {1, 2} <= seen | {load(path)[0]["who"]}
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
