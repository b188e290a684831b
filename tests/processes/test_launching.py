"""Programs are started by another process, and behave as if this one had started them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from agent_ls.processes.launching import PipedProgram, get_ready, start, start_piped
from tests.support.programs import launchers, programs


async def check(*words: str, cwd: Path | None = None, stdin: bytes = b"") -> tuple[int, bytes]:
    """Return the exit code and the output of a Python script."""
    piped = await _python(*words, cwd=cwd)
    await piped.feed(stdin)
    output = await piped.stdout.read()
    code = await piped.program.wait()
    await piped.end()
    return code, output


async def _python(*words: str, cwd: Path | None = None) -> PipedProgram:
    return await start_piped([sys.executable, "-c", *words], cwd=cwd, env={"ONE": "é\udcff"})


@pytest.mark.parametrize("script, code", [
    ("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", -9),
])  # fmt: skip
async def test_the_exit_code_is_the_programs_own(script: str, code: int) -> None:
    assert (await check(script))[0] == code


async def test_input_folder_and_variables_arrive(tmp_path: Path) -> None:
    script = "import os, sys; print([os.getcwd(), os.environb[b'ONE'], len(sys.stdin.read())])"
    _, output = await check(script, cwd=tmp_path, stdin=b"x" * 300_000)
    assert output.decode() == f"{[str(tmp_path), 'é'.encode() + bytes([255]), 300_000]}\n"


async def test_a_request_of_any_size_arrives() -> None:
    words = ["x" * 100_000] * 10
    assert (await check("import sys; print(sum(map(len, sys.argv[1:])))", *words))[
        1
    ] == b"1000000\n"


async def test_signals_are_as_a_new_program_expects_them() -> None:
    script = (
        "import signal; print([signal.getsignal(n).name for n in (signal.SIGTERM, signal.SIGHUP)])"
    )
    assert (await check(script))[1] == b"['SIG_DFL', 'SIG_DFL']\n"
    # Python itself ignores SIGPIPE, so another program has to say.
    piped = await start_piped(["/bin/sh", "-c", "kill -PIPE $$; echo alive"], cwd=None, env={})
    assert await piped.program.wait() == -signal.SIGPIPE
    await piped.end()


async def test_no_descriptor_is_inherited_but_the_given_ones() -> None:
    script = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])"
    assert (await check(script))[1] == b"[0, 1, 2]\n"


async def test_a_program_has_a_session_of_its_own() -> None:
    _, output = await check("import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))")
    assert output == b"True\n"


@pytest.mark.parametrize("command, folder, reason", [
    (["/nowhere/program"], "/", "No such file"),
    (["/"], "/", "Permission denied"),
    ([sys.executable], "/nowhere", "No such file"),
    (["/\0"], "/", "null character"),
    (["true"], "/", "started by its full path"),
    (["bin/true"], "/", "started by its full path"),
])  # fmt: skip
async def test_what_cannot_start_says_why(command: Sequence[str], folder: str, reason: str) -> None:
    with pytest.raises(OSError, match=reason):
        await start_piped(command, cwd=Path(folder), env={})


async def test_many_at_once_are_told_apart() -> None:
    outcomes = await asyncio.gather(*(check(f"raise SystemExit({n})") for n in range(20)))
    assert [code for code, _ in outcomes] == list(range(20))


async def test_a_cancelled_start_leaves_no_program(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    script = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    await get_ready()
    starting = asyncio.create_task(_python(script))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    below = programs()
    psutil.wait_procs(below, timeout=20)
    assert not any(one.is_running() for one in below)


async def test_when_the_launcher_is_killed_the_next_program_gets_a_new_one() -> None:
    piped = await _python("import time; time.sleep(600)")
    for launcher in launchers():
        launcher.kill()
    assert await piped.program.wait() == -signal.SIGKILL
    await piped.end()
    assert (await check("print(1)"))[1] == b"1\n"


async def test_the_callers_descriptors_become_the_programs_first_ones() -> None:
    read_end, write_end = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    program = await start(
        ["/bin/sh", "-c", "echo said >&3"],
        cwd=None, env={}, descriptors=(null, null, null, write_end),
    )  # fmt: skip
    os.close(write_end)
    os.close(null)
    assert await program.wait() == 0
    assert os.read(read_end, 100) == b"said\n"
    os.close(read_end)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "program",
    [
        pytest.param("", id="it-listens"),
        pytest.param("for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)", id="it-does-not"),
        pytest.param("if os.fork() == 0: signal.signal(15, signal.SIG_IGN)", id="its-child-not"),
    ],
)
def test_when_the_server_is_killed_what_it_started_ends(program: str) -> None:
    script = """
        import asyncio, os, sys
        from agent_ls.processes.launching import start_piped
        async def main():
            piped = await start_piped([sys.executable, "-uc", sys.argv[1]], cwd=None, env={})
            for _ in range(int(sys.argv[2])):
                print((await piped.stdout.readline()).decode(), end="", flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    ready = 2 if "fork" in program else 1
    says = "os.write(1, str(os.getpid()).encode() + b'\\n')"
    child = f"import os, signal, time\n{program}\n{says}\ntime.sleep(600)"
    command = [sys.executable, "-c", textwrap.dedent(script), child, str(ready)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        children = [psutil.Process(int(server.stdout.readline())) for _ in range(ready)]
        server.kill()
        gone, alive = psutil.wait_procs(children, timeout=20)
    assert len(gone) == ready
    assert not alive
