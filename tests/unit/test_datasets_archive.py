"""Archives as streams: what is read is what was packed, and what could do harm is refused."""

import gzip
import io
import tarfile

import pytest

from driftglm.datasets.archive import Limits, read_members
from driftglm.exceptions import DataError

FILES = {"1996.tok/a.mda": b"one two", "1996.tok/b.mda": b"", "1996.tok/c.mda": b"x" * 5000}


def member(name, size=0, kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def packed(path, contents, form=tarfile.PAX_FORMAT):
    with tarfile.open(path, "w:gz", format=form) as archive:
        for name, content in contents.items():
            archive.addfile(member(name, len(content)), io.BytesIO(content))
    return path


def raw(path, *blocks):
    """Headers and contents exactly as given, with the two empty blocks of the end."""
    with gzip.open(path, "wb") as stream:
        stream.write(b"".join(blocks) + bytes(1024))
    return path


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_files_come_as_they_were_packed(form, tmp_path):
    path = packed(tmp_path / "a.tgz", FILES, form)
    assert dict(read_members(path, Limits())) == FILES
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_and_foreign_names_are_read(form, tmp_path):
    contents = {f"1996.tok/{'k' * 300}.mda": b"long", "1996.tok/ü.mda": b"foreign", "z": b"last"}
    assert dict(read_members(packed(tmp_path / "a.tgz", contents, form), Limits())) == contents


def test_folders_are_passed_over_and_times_with_fractions_do_not_disturb(tmp_path):
    """A fraction of a second makes Python's tarfile write a record before the member."""
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(member("1996.tok", kind=tarfile.DIRTYPE))
        archive.addfile(member("1996.tok/a.mda", 3, mtime=1.5), io.BytesIO(b"abc"))
    assert list(read_members(path, Limits())) == [("1996.tok/a.mda", b"abc")]


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../up.mda", "1996.tok/../../up.mda", "..\\up.mda", "C:\\up.mda", "C:/up.mda"],
)
def test_paths_that_lead_out_are_refused(name, tmp_path):
    path = raw(tmp_path / "a.tgz", member(name, 0).tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(DataError, match=r"a.tgz: the member .* leads out of the folder"):
        list(read_members(path, Limits()))
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_paths_that_lead_out_by_a_long_name_are_refused(form, tmp_path):
    path = packed(tmp_path / "a.tgz", {f"{'k' * 200}/../../../up.mda": b"x"}, form)
    with pytest.raises(DataError, match="leads out of the folder"):
        list(read_members(path, Limits()))


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.GNUTYPE_SPARSE,
    ],
)
def test_links_and_devices_are_refused(kind, tmp_path):
    header = member("1996.tok/a.mda", kind=kind, linkname="/etc/passwd").tobuf(tarfile.GNU_FORMAT)
    path = raw(tmp_path / "a.tgz", header)
    with pytest.raises(DataError, match=r"'1996.tok/a.mda' is a link, device or other special"):
        list(read_members(path, Limits()))


def test_a_member_that_claims_ten_gigabytes_is_refused_before_it_is_read(tmp_path):
    header = member("1996.tok/a.mda", 10 * 2**30).tobuf(tarfile.GNU_FORMAT)
    path = raw(tmp_path / "a.tgz", header)
    with pytest.raises(DataError, match=r"claims 10737418240 bytes; the limit is 67,108,864"):
        list(read_members(path, Limits()))


@pytest.mark.parametrize("size", [b"9" * 30, b"-5", b"10000000000"])
def test_a_size_in_a_pax_record_counts_too(size, tmp_path):
    body = b" size=" + size + b"\n"
    body = str(len(body) + 2).encode() + body
    record = member("pax", len(body), tarfile.XHDTYPE).tobuf(tarfile.USTAR_FORMAT)
    record += body.ljust(512, b"\0")
    path = raw(tmp_path / "a.tgz", record, member("1996.tok/a.mda").tobuf(tarfile.USTAR_FORMAT))
    with pytest.raises(DataError, match=r"claims .* bytes; the limit is"):
        list(read_members(path, Limits()))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_record_before_a_member_may_not_fill_the_memory(kind, tmp_path):
    path = raw(tmp_path / "a.tgz", member("x", 10 * 2**30, kind).tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(DataError, match="a record of 10,737,418,240 bytes describes a member"):
        list(read_members(path, Limits()))


@pytest.mark.parametrize("body", [b"7 nothing", b"x path=a\n", b"3 path=a\n", b"9" * 400])
def test_a_damaged_record_is_refused(body, tmp_path):
    record = member("pax", len(body), tarfile.XHDTYPE).tobuf(tarfile.USTAR_FORMAT)
    path = raw(tmp_path / "a.tgz", record, body.ljust(512, b"\0"))
    with pytest.raises(DataError, match="a pax record cannot be read"):
        list(read_members(path, Limits()))


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path):
    path = packed(tmp_path / "a.tgz", {f"{i}": bytes(10_000) for i in range(20)})
    with pytest.raises(DataError, match="unpacks to more than 100,000 bytes"):
        list(read_members(path, Limits(archive=100_000)))
    bomb = tmp_path / "b.tgz"
    with gzip.open(bomb, "wb") as stream:
        stream.write(bytes(40 * 2**20))
    with pytest.raises(DataError, match="bytes follow the end of the archive"):
        list(read_members(bomb, Limits()))


def test_an_archive_cut_short_anywhere_is_refused(tmp_path):
    whole = packed(tmp_path / "a.tgz", FILES).read_bytes()
    path = tmp_path / "cut.tgz"
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"cut.tgz: the archive is (damaged or )?cut short"):
            list(read_members(path, Limits()))


def test_an_archive_without_end_is_cut_short_even_if_its_gzip_is_whole(tmp_path):
    path = tmp_path / "a.tgz"
    with gzip.open(path, "wb") as stream:
        stream.write(member("1996.tok/a.mda", 0).tobuf(tarfile.GNU_FORMAT))
    with pytest.raises(DataError, match="cut short after 512 unpacked bytes"):
        list(read_members(path, Limits()))


def test_one_changed_byte_is_noticed(tmp_path, rng):
    content = {"1996.tok/a.mda": rng.integers(0, 256, 5000, dtype="uint8").tobytes()}
    whole = bytearray(packed(tmp_path / "a.tgz", content).read_bytes())
    whole[len(whole) // 2] ^= 1
    path = tmp_path / "changed.tgz"
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"changed.tgz"):
        list(read_members(path, Limits()))


def test_what_is_no_archive_is_refused(tmp_path):
    path = tmp_path / "a.tgz"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(DataError, match=r"a.tgz: the archive is damaged .*gzip"):
        list(read_members(path, Limits()))
    raw(path, b"no tar at all".ljust(512, b"."))
    with pytest.raises(DataError, match="no tar header where one must be"):
        list(read_members(path, Limits()))
