"""Bytes that are read: whole or refused, never more memory than allowed."""

import hashlib
import io
import json
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from driftglm.files import DamagedFileError, load, pack, unpack
from driftglm.files.layout import FORMAT, JSON_LIMIT


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


def test_a_file_cut_anywhere_is_refused(file_arrays, file_facts):
    data = pack(file_facts, file_arrays)
    for n in range(len(data)):
        with pytest.raises(DamagedFileError):
            unpack(data[:n])


@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_no_flipped_byte_changes_content_unseen(file_arrays, file_facts, flip):
    data = pack(file_facts, {name: file_arrays[name] for name in ("f", "s")})
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


def test_bytes_put_around_a_file_change_nothing_unseen(file_arrays, file_facts):
    data = pack(file_facts, file_arrays)
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
def test_a_real_bomb_is_refused_without_being_told(run_python, tmp_path):
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
    run_python(code, tmp_path / "bomb")


def test_json_that_is_absurdly_long_is_not_read():
    with pytest.raises(DamagedFileError, match="more than the"):
        unpack(sealed(b" " * (JSON_LIMIT + 1), []))
