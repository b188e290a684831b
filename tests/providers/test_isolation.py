"""What the child process must not do: print, look around, look up hosts, keep keys, live on."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import psutil
import pytest

from agent_ls.domain.errors import ProviderError
from agent_ls.domain.model_io import TextDelta
from agent_ls.providers.credentials import StoredCredentials
from agent_ls.providers.model_host import ModelHost, ModelHostOptions
from tests.providers.conftest import Asking, request
from tests.support.dialects import Said, anthropic
from tests.support.faulty import faulty
from tests.support.scripted import scripted

BY_LIBRARY = "fireworks_ai/m"
"""A model that is asked by way of litellm, in a dialect that the scripted model speaks."""

# Runs what follows as `python` would, and writes down every name it looks up and every address
# it connects to.
pytestmark = pytest.mark.heavy

WATCHED_PYTHON = """\
import runpy, sys

log = open({log!r}, "a", buffering=1)

def watch(event, args):
    if event == "socket.getaddrinfo":
        log.write(f"lookup {{args[0]}}\\n")
    elif event == "import" and args[0] == "litellm":
        log.write("import litellm\\n")
    elif event == "socket.connect" and isinstance(args[1], tuple):
        log.write(f"connect {{args[1][0]}}\\n")

sys.addaudithook(watch)
module = sys.argv[sys.argv.index("-m") + 1]
sys.argv = [module]
runpy.run_module(module, run_name="__main__")
"""


def watched_python(folder: Path) -> tuple[Path, Path]:
    """An interpreter that reports its look-ups, and where it reports them."""
    log, script, python = folder / "log", folder / "watched.py", folder / "python"
    log.touch()
    script.write_text(WATCHED_PYTHON.format(log=str(log)), "utf-8")
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n', "utf-8")
    python.chmod(0o755)
    return python, log


async def check(asking: Asking, answer: str, model: str = "openai/scripted") -> str:
    """Ask once; return the text, or the error's words."""
    async with scripted(f"[[answer]]\n{answer}") as server:
        asking.use(server.base_url)
        try:
            events = await asking.ask(request(model=model))
        except ProviderError as error:
            return error.message
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_it_looks_up_no_host_and_connects_to_none_but_the_endpoint(tmp_path: Path) -> None:
    python, log = watched_python(tmp_path)
    asking = Asking(tmp_path, ModelHostOptions(python=str(python)))
    await asking.host.start()
    for model in ("openai/scripted", "openai/gpt-4o", BY_LIBRARY):
        assert await check(asking, "text = 'hi'", model) == "hi"
        assert "slow" in await check(asking, "error = { status = 429, message = 'slow' }", model)
        await asking.host.facts(model)
    await asking.host.close()
    seen = set(log.read_text("utf-8").splitlines()) - {"import litellm"}
    assert seen <= {"lookup 127.0.0.1", "connect 127.0.0.1"}
    assert "connect 127.0.0.1" in log.read_text("utf-8")


async def test_it_loads_the_model_library_for_those_alone_who_need_it(tmp_path: Path) -> None:
    python, log = watched_python(tmp_path)
    asking = Asking(tmp_path, ModelHostOptions(python=str(python)))
    for model in ("openai/scripted", "openai/gpt-4o", "lm_studio/x"):
        assert await check(asking, "text = 'hi'", model) == "hi"
        await asking.host.facts(model)
    async with faulty(0, [anthropic(Said(text="hi"))]) as endpoint:
        asking.use(endpoint.url)
        await asking.host.facts("anthropic/claude-nobody-knows")
        await asking.ask(request(model="anthropic/claude-nobody-knows"))
    with pytest.raises(ProviderError, match="names no provider"):
        await asking.ask(request(model="gpt9"))
    assert "litellm" not in log.read_text("utf-8")
    assert await check(asking, "text = 'hi'", BY_LIBRARY) == "hi"
    assert "litellm" in log.read_text("utf-8")
    await asking.host.close()


async def test_it_writes_nothing_but_reports_even_when_everything_is_logged(
    tmp_path: Path, config_dir: Path
) -> None:
    """A dead endpoint at log level debug makes litellm print: here, whatever it likes."""
    copy, python = tmp_path / "stdout", tmp_path / "python"
    python.write_text(f'#!/bin/sh\n{sys.executable} "$@" | tee {copy}\n', "utf-8")
    python.chmod(0o755)
    asking = Asking(config_dir, ModelHostOptions(python=str(python), connect_s=2))
    asking.env["LITELLM_LOG"] = "DEBUG"
    slow = "error = { status = 429, message = 'slow' }"
    assert "slow" in await check(asking, slow, BY_LIBRARY)
    asking.env["FIREWORKS_AI_API_BASE"] = "http://127.0.0.1:9/v1"
    with pytest.raises(ProviderError, match="Cannot reach"):
        await asking.ask(request(model=BY_LIBRARY))
    await asking.host.close()
    data = await asyncio.to_thread(copy.read_bytes)
    assert data.endswith(b"\n")
    assert all(isinstance(json.loads(line), list) for line in data.splitlines())


async def test_it_inherits_neither_keys_nor_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, notes = tmp_path / "workspace", tmp_path / "notes"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    (workspace / "litellm.py").write_text("raise SystemExit('from the workspace')", "utf-8")
    (workspace / ".env").write_text("OPENAI_API_BASE=http://127.0.0.1:9/v1\n", "utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n(pwd; env) > {notes}\nexec {sys.executable} "$@"\n', "utf-8")
    python.chmod(0o755)
    env = {**os.environ, "OPENAI_API_KEY": "sk-secret", "AWS_SECRET_ACCESS_KEY": "secret"}
    # Where the user works in an activated environment, its programs come first.
    env["PATH"] = f"{workspace}/.venv/bin:{env['PATH']}"
    env |= {"PYTHONPATH": str(workspace), "PYTHONSTARTUP": "x", "OPENAI_BASE_URL": "http://x"}
    options = ModelHostOptions(python=str(python))
    host = ModelHost(options, credentials=StoredCredentials(tmp_path, env), env=env)
    await host.start()
    await host.close()
    place, *variables = notes.read_text("utf-8").splitlines()
    names = {variable.partition("=")[0] for variable in variables}
    assert place == "/"
    assert "PATH" in names
    assert not {"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PYTHONSTARTUP"} & names
    assert "OPENAI_BASE_URL" not in names
    assert str(workspace) not in str(variables)


SEALED = """
import ctypes
from agent_ls.providers.worker_pipes import seal_process

seal_process()
PR_GET_DUMPABLE = 3
raise SystemExit(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has this")
async def test_its_memory_is_closed_to_other_processes() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", SEALED)
    assert await process.wait() == 0


async def test_closing_ends_it_also_while_it_is_still_loading(config_dir: Path) -> None:
    asking = Asking(config_dir)
    await asking.host.start()
    process = psutil.Process(asking.host.pid)
    await asking.host.close()
    assert asking.host.pid is None
    assert not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    with pytest.raises(ProviderError, match="closed"):
        await asking.ask(request(model="ollama/x"))


PARENT = """
import asyncio, sys
from agent_ls.providers.model_host import ModelHost

async def main():
    host = ModelHost()
    await host.start()
    print(host.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_it_dies_with_the_server_however_that_ends() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout
    child = psutil.Process(int(await parent.stdout.readline()))
    parent.kill()
    await parent.wait()
    gone, _ = await asyncio.to_thread(psutil.wait_procs, [child], timeout=10)
    assert gone == [child]
