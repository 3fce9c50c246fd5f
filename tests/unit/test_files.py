"""The bytes of a file: exact, whole or refused, never more memory than allowed."""

import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, load, pack, save, unpack, write_atomically
from driftglm.files.layout import FORMAT, JSON_LIMIT

FACTS = {"text": "é\n", "number": 0.1, "list": [1, None, True]}
ARRAYS = {
    "f": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "s": np.array(["a", "日本"]),
    "e": np.empty((0, 3)),
    "z": np.array(7),
    "t": np.array(["2001-01-01", "NaT"], dtype="M8[D]"),
    "b": np.array([True, False]),
    "c": np.arange(10)[::3],
    "n": np.array([np.nan, -0.0, np.inf]),
}


def sealed(content, parts, *, comment=None, **options):
    """A file made by hand whose JSON has the right checksum."""
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        archive.writestr("model.json", text)
        for name, data in parts:
            archive.writestr(name, data)
        seal = f"driftglm {FORMAT} sha256={hashlib.sha256(text).hexdigest()}".encode()
        archive.comment = seal if comment is None else comment
    return out.getvalue()


def listed(parts):
    """JSON that lists the parts given as they are."""
    arrays = {
        name.removesuffix(".npy"): {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in parts
    }
    return {"format": FORMAT, "facts": {}, "arrays": arrays}


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_content_comes_back_exactly_and_equal_content_is_equal_bytes(tmp_path):
    save(tmp_path / "f", FACTS, ARRAYS)
    assert (tmp_path / "f").read_bytes() == pack(FACTS, ARRAYS)
    facts, arrays = load(tmp_path / "f")
    assert facts == FACTS
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        again = arrays[name]
        assert (again.dtype, again.shape) == (array.dtype, array.shape)
        assert again.tobytes() == array.tobytes()
        assert again.flags.aligned
        assert again.flags.writeable
    assert arrays["f"].flags.f_contiguous


def test_numpy_itself_can_read_the_arrays(tmp_path):
    """The parts are ordinary .npy files, for whoever has no driftglm."""
    save(tmp_path / "f", FACTS, ARRAYS)
    with np.load(tmp_path / "f") as parts:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(parts[name], array)


def test_a_file_cut_anywhere_is_refused():
    data = pack(FACTS, ARRAYS)
    for n in range(len(data)):
        with pytest.raises(DamagedFileError):
            unpack(data[:n])


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_no_flipped_byte_changes_content_unseen(flip):
    data = pack(FACTS, {name: ARRAYS[name] for name in ("f", "s")})
    wanted = pack(*unpack(data))
    n_refused = 0
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= flip
        try:
            found = unpack(bytes(changed))
        except DamagedFileError:
            n_refused += 1
        else:  # a date or a flag of the zip that says nothing
            assert pack(*found) == wanted
    assert n_refused > 0.5 * len(data)


def test_bytes_put_around_a_file_change_nothing_unseen():
    data = pack(FACTS, ARRAYS)
    for around in (b"x" + data, data + b"x", data + data, b"\0" * 100 + data):
        try:
            found = unpack(around)
        except DamagedFileError:
            continue
        assert pack(*found) == data


@pytest.mark.parametrize("where", ["both", "comment", "json"])
def test_a_newer_format_says_so(where):
    content = listed([]) | {"format": FORMAT if where == "comment" else 7}
    text = json.dumps(content).encode()
    comment = b"driftglm 7 sha256=" + hashlib.sha256(text).hexdigest().encode()
    data = sealed(text, [], comment=None if where == "json" else comment)
    with pytest.raises(
        DamagedFileError, match=rf"newer driftglm \(format 7; this version reads {FORMAT}\)"
    ):
        unpack(data)


OBJECTS = [("a.npy", npy(np.array([{}], dtype=object), allow_pickle=True))]
GOOD = [("a.npy", npy(np.ones(3)))]
HUGE = [("a.npy", header("(1000000000000,)"))]
NOTHING = [("a.npy", header("(1000000000000000,)", "'|V0'"))]
REFUSED = {
    "objects": (sealed(listed(OBJECTS), OBJECTS), "array of Python objects"),
    "objects in fields": (
        sealed(listed(p := [("a.npy", header("(1,)", "[('x', '|O')]") + b"\0" * 8)]), p),
        "array of Python objects",
    ),
    "nothing, often": (sealed(listed(NOTHING), NOTHING), "array of Python objects"),
    "header of 8 TB": (sealed(listed(HUGE), HUGE), "another size than its header"),
    "negative shape": (
        sealed(listed(p := [("a.npy", header("(-1,)"))]), p),
        "another size than its header",
    ),
    "bad header": (sealed(listed(p := [("a.npy", header("open('x')"))]), p), "damaged"),
    "wrong size": (
        sealed(listed([("a.npy", npy(np.ones(4)))]), GOOD),
        "has not the size listed",
    ),
    "unlisted part": (sealed(listed([]), GOOD), "parts it does not list"),
    "missing part": (sealed(listed(GOOD), []), "damaged"),
    "no seal": (sealed(listed(GOOD), GOOD, comment=b"x"), "does not match its checksum"),
    "not a table": (sealed(b"[1]", []), "no table of facts"),
    "facts no table": (sealed(listed([]) | {"facts": [1]}, []), "facts are no table"),
    "no arrays": (sealed({"format": FORMAT, "facts": {}}, []), "damaged"),
    "deep": (sealed(b'{"a":' * 100_000, []), "damaged"),
    "endless number": (sealed(b"[" + b"9" * 10_000 + b"]", []), "damaged"),
    "repeated key": (sealed(b'{"format": 2, "format": 2}', []), "a key occurs twice"),
    "not text": (sealed(b"\xff\xfe\x00", []), "damaged"),
    "format a text": (sealed(listed([]) | {"format": "9"}, []), "has format '9'"),
    "format true": (sealed(listed([]) | {"format": True}, []), "has format True"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_forged_files_give_one_clear_error(name, tmp_path):
    data, message = REFUSED[name]
    path = tmp_path / "forged"
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused():
    with pytest.raises(DamagedFileError, match="two parts of one name"):
        unpack(sealed(listed(GOOD), GOOD + GOOD))


@pytest.mark.parametrize("change", ["encrypted", "compression"])
def test_encrypted_or_oddly_compressed_parts_are_refused(change):
    data = bytearray(sealed(listed(GOOD), GOOD))
    at = data.rindex(b"PK\x01\x02")  # the last entry of the directory: a.npy
    data[at + 8 if change == "encrypted" else at + 10] = 1
    with pytest.raises(DamagedFileError, match="encrypted or compressed in a way"):
        unpack(bytes(data))


def bomb(n_bytes, *, claimed=None):
    """A file that inflates 1000 to 1, its directory in order or claiming another size."""
    data = npy(np.zeros(n_bytes // 8))
    out = bytearray(sealed(listed([("a.npy", data)]), [("a.npy", data)]))
    if claimed is not None:
        at = out.rindex(b"PK\x01\x02")
        out[at + 24 : at + 28] = claimed.to_bytes(4, "little")
    return bytes(out)


def peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refused(data, message, **options):
    def call():
        with pytest.raises(DamagedFileError, match=message):
            unpack(data, **options)

    return call


def test_bombs_take_no_more_memory_than_allowed():
    mb = 2**20
    fair = bomb(64 * mb)
    assert len(fair) < 100_000
    assert peak(refused(fair, "more than the limit", limit=8 * mb)) < mb
    # What inflates to more than its directory claims is not what its JSON lists, or is cut there.
    liar = bomb(64 * mb, claimed=1000)
    assert peak(refused(liar, "not the size listed", limit=8 * mb)) < 4 * mb
    short = header("(100,)") + bytes(800)
    inflated = npy(np.zeros(8 * mb))
    twice = bytearray(sealed(listed([("a.npy", short)]), [("a.npy", inflated)]))
    at = twice.rindex(b"PK\x01\x02")
    twice[at + 24 : at + 28] = len(short).to_bytes(4, "little")
    assert peak(refused(bytes(twice), "it is damaged|another size", limit=8 * mb)) < 4 * mb
    # What claims 3.9 GB, or lists them in its JSON too, is not believed.
    assert peak(refused(bomb(mb, claimed=3_900_000_000), "more than the limit")) < mb
    assert peak(refused(sealed(listed(HUGE), HUGE), "another size than its header")) < mb
    assert unpack(fair)[1]["a"].size == 8 * mb


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs elsewhere")
def test_a_real_bomb_is_refused_without_being_told(tmp_path):
    """300 MB in 300 kB, read by a process that may not have that much."""
    block = zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED)
    with block as archive:
        with archive.open("model.json", "w") as out:
            out.write(b"{}")
        with archive.open("a.npy", "w") as out:
            for _ in range(300):
                out.write(bytes(2**20))
    assert (tmp_path / "bomb").stat().st_size < 2**19
    code = """
        import resource, sys
        from driftglm.files import DamagedFileError, load
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            load(sys.argv[1])
        except DamagedFileError as error:
            assert "max_bytes" in str(error), error
        else:
            raise SystemExit("read it")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    """
    run(code, tmp_path / "bomb")


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


def test_the_json_may_not_be_absurdly_long():
    with pytest.raises(DataError, match="pass long lists as arrays"):
        pack({"long": "x" * (JSON_LIMIT + 1)}, {})
    with pytest.raises(DamagedFileError, match="more than the"):
        unpack(sealed(b" " * (JSON_LIMIT + 1), []))


def test_arrays_of_objects_cannot_be_written():
    for array in (np.array([{}]), np.zeros(2, dtype=[("x", object)]), np.zeros(3, dtype="V0")):
        with pytest.raises(ValueError, match="cannot be saved"):
            pack({}, {"a": array})


# ------------------------------------------------------------------ files on disk


def run(code, *arguments):
    """Run Python elsewhere; its failure is the test's."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr


def test_the_mode_is_what_the_umask_says(tmp_path):
    code = """
        import os, sys
        from driftglm.files import save
        os.umask(int(sys.argv[2], 8))
        save(sys.argv[1], {}, {})
    """
    for umask, mode in (("022", 0o644), ("077", 0o600), ("002", 0o664)):
        run(code, tmp_path / umask, umask)
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
def test_an_unwritable_folder_is_named(tmp_path):
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
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    run(code, tmp_path / "file")
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
