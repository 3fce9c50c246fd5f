"""The command as a process: what help imports, pipes, signals and rights."""

# ruff: noqa: S603 (what is run is this package)

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "driftglm"]
HEAVY = {"numpy", "sklearn", "numba", "pandas", "scipy", "matplotlib"}
PAGES = [
    (),
    ("demo",),
    ("fit",),
    ("predict",),
    ("compare",),
    ("report",),
    ("shard",),
    ("text",),
    ("text", "fit"),
    ("text", "top-words"),
    ("reproduce",),
]


def test_help_of_every_command_is_cheap():
    """All pages in one process, which then must not hold any of the heavy libraries."""
    lines = [
        "import sys",
        "from driftglm.cli.main import app",
        f"for words in {PAGES!r}:",
        "    assert app([*words, '--help'], standalone_mode=False) == 0, words",
        f"heavy = {HEAVY!r} & set(sys.modules)",
        "sys.exit(f'help imports {heavy}' if heavy else 0)",
    ]
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "compare" in ran.stdout
    for words in PAGES:
        assert f"Usage: driftglm {' '.join([*words, ''])}" in ran.stdout
    assert "\x1b" not in ran.stdout
    assert "╭" not in ran.stdout


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("text", "ModuleNotFoundError('No module named driftglm.cli.text', name=name)"),
        ("text", "ModuleNotFoundError('No module named other', name='other')"),
        ("fit", "SyntaxError('odd\\nlines')"),
    ],
)
def test_a_command_that_cannot_be_loaded_says_so_and_the_others_work(command, fault):
    lines = [
        "import sys",
        "class Broken:",
        "    def find_spec(self, name, *_):",
        f"        if name == 'driftglm.cli.{command}':",
        f"            raise {fault}",
        "sys.meta_path.insert(0, Broken())",
        "from driftglm.cli.main import app",
        "app(sys.argv[1:])",
    ]

    def call(*words):
        code = "\n".join(lines)
        return subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
        )

    for words in ((command, "--help"), (command, "fit", "a.csv", "-o", "m.drift"), (command,)):
        ran = call(*words)
        assert ran.returncode == 1, ran.stderr
        (line,) = ran.stderr.splitlines()
        assert line.startswith(f"error: the command {command!r} cannot be loaded (")
        assert "No such command" not in line
    assert "Traceback" in call(command, "--debug").stderr
    ran = call("--help")
    assert ran.returncode == 0, ran.stderr
    assert command in ran.stdout
    assert call("shard", "--help").returncode == 0


def test_version_and_the_installed_script():
    ran = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("driftglm 0.")
    script = Path(sys.executable).parent / "driftglm"
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    again = subprocess.run([str(script), "--version"], capture_output=True, text=True, check=True)
    assert again.stdout == ran.stdout


def test_completion_is_offered():
    environment = os.environ | {"_DRIFTGLM_COMPLETE": "complete_bash", "COMP_CWORD": "1"}
    environment |= {"COMP_WORDS": "driftglm com"}
    script = "from driftglm.cli.main import prepared; prepared()()"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.stdout.split() == ["compare"]


def test_a_reader_that_leaves_is_no_error(table, fitted):
    rows = 3000
    text = table.read_text().splitlines()
    table.write_text("\n".join(text[:1] + text[1:] * (rows // len(text) + 1)))
    with subprocess.Popen(
        [*COMMAND, "predict", str(fitted), str(table), "--interval", "0.9"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdout.readline().startswith(b"prediction")
        process.stdout.close()
        error = process.stderr.read()
        assert process.wait(timeout=60) == 0, error
    assert error == b""


def test_ctrl_c_ends_with_130_and_one_line(tmp_path):
    with subprocess.Popen(
        [*COMMAND, "demo", "--jobs", "1", "--out", str(tmp_path / "d")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background jobs ignore interrupts, and so would the command.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        assert process.stderr.readline().startswith("Votes of the 19 countries")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error.splitlines()[-1] == "interrupted"
    assert "Traceback" not in error
    assert not (tmp_path / "d" / "report.html").exists()


AS_NOBODY = """
import os, sys
import driftglm.cli.fit, driftglm.tables.writing
from driftglm.cli.main import prepared
if os.geteuid() == 0:  # what is imported so far may be out of reach for anyone else
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
prepared()()
"""


def test_a_folder_that_may_not_be_written_is_refused_before_the_fit(rows):
    place = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    try:
        place.chmod(0o755)
        (place / "closed").mkdir(mode=0o555)
        rows.to_csv(place / "sales.csv", index=False)
        words = ("fit", "sales.csv", "--target", "price", "--time", "year", "-o", "closed/m.drift")
        ran = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *words],
            capture_output=True,
            text=True,
            cwd=place,
            check=False,
        )
        assert ran.returncode == 2, ran.stderr
        assert (
            ran.stderr == "error: the folder closed cannot be written to; choose another place.\n"
        )
    finally:
        shutil.rmtree(place)
