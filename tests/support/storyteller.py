"""Tells a marker story: starts the server and the scripted model, and does step after step."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_ls.providers.scripted import ScriptedModel
from tests.support.client_editors import KINDS, ClientEditor
from tests.support.lsp_connection import ServerError
from tests.support.markers import Place, Step, Story

_WAIT_S = 60
"""A guard, not a measure: on a machine that does much else a start has taken more than 20 s."""
SERVER = (sys.executable, "-m", "agent_ls", "serve")


class StoryFailed(AssertionError):
    """A step did not come true; the text says which, and what the editor saw instead."""


class Storyteller:
    """One telling of a story with one kind of editor."""

    def __init__(
        self,
        story: Story,
        editor: str,
        folder: Path,
        model: ScriptedModel,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Take what to tell; the variables are the server's besides those of the story."""
        self.story = story
        self._variables = dict(variables or {})
        self.kind = KINDS[editor]
        self.folder = folder
        self.root = folder / "work"
        self.log = folder / "server.log"
        self.model = model
        self.editor: ClientEditor
        self.ends = 0
        """How many ends of turns the story has waited for."""
        self.chat = Path()
        """The conversation's file, which steps name ``chat``."""
        self.server: tuple[str, ...] = SERVER
        self.next_pick: str | None = None
        """The button that the user presses in the next editor."""

    # The stage.

    def prepare(self) -> None:
        """Write the files that the story begins with."""
        self.root.mkdir(parents=True)
        below = self.story.archive.below
        written = {self.root / path: text for path, text in below("file").items()}
        written |= {self.folder / "claude" / path: text for path, text in below("claude").items()}
        for target, text in written.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())
        for name in ("config", "data", "state", "cache"):
            (self.folder / name / "agent-ls").mkdir(parents=True)
        settings = self.story.archive.members.get("settings", "")
        (self.folder / "config/agent-ls/config.toml").write_text(settings)
        if self.story.client.get("trusted"):
            trusted = self.folder / "data/agent-ls/trusted.json"
            trusted.write_text(json.dumps([str(self.root)]))

    def env(self) -> dict[str, str]:
        """Return the server's environment: the user's places are the story's."""
        kept = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "PYTHONPATH", "AGENT_LS_SANDBOX")
        env = {name: os.environ[name] for name in kept if name in os.environ}
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            env[f"XDG_{name}_HOME"] = str(self.folder / name.lower())
        env["CLAUDE_CONFIG_DIR"] = str(self.folder / "claude")
        env |= self._variables
        env["AGENT_LS_MODEL"] = "openai/scripted"
        env["AGENT_LS_API_BASE"] = self.model.base_url
        for name, value in self.story.client.get("env", {}).items():
            env[name] = value
        return {name: value for name, value in env.items() if value != "-"}

    async def start(self) -> None:
        """Start a server for this editor."""
        client = self.story.client
        options = dict(client.get("options", {}))
        self.editor = ClientEditor(
            self.root,
            self.kind,
            options=options,
            has_folder=client.get("folder", True),
            encodings=client.get("encodings"),
        )
        self.editor.edits = client.get("edits", "good")
        self.editor.pick = self.next_pick
        self.ends = 0
        await self.editor.start(self.server, env=self.env(), log=self.log)

    async def tell(self) -> None:
        """Do every step; what fails says where."""
        self.prepare()
        await self.start()
        try:
            for number, step in enumerate(self.story.steps, 1):
                await self._do(number, step)
        finally:
            code = await self.editor.stop()
        log = self.log.read_text()
        assert "Traceback" not in log, log
        assert code == 0, f"the server ended with {code}:\n{log}"
        assert self.editor.shown.errors == []

    async def _do(self, number: int, step: Step) -> None:
        act: Callable[..., Any] | None = getattr(self, f"step_{step.name}", None)
        if act is None:
            raise StoryFailed(f"step {number}: there is no {step.name}()")
        try:
            await act(*step.arguments, **step.options)
        except (TimeoutError, AssertionError, ServerError, ConnectionError) as error:
            raise StoryFailed(f"step {number}, {step.text}: {error}\n\n{self._seen()}") from error

    def _seen(self) -> str:
        shown = self.editor.shown
        parts = {
            "diagnostics": shown.diagnostics,
            "progress": shown.progress,
            "messages": shown.messages,
            "log": shown.log,
            "updates": shown.updates[-30:],
            "edits": shown.edits[-3:],
            "buffers": {uri: one.text for uri, one in self.editor.buffers.items()},
            "model": self.model.problems,
        }
        lines = [f"{name}: {json.dumps(value, indent=1)}" for name, value in parts.items() if value]
        return "\n".join([*lines, "server log:", self.log.read_text()[-4000:]])

    def _uri(self, path: str) -> str:
        return self.editor.uri(str(self.chat) if path == "chat" else path)

    def _golden(self, name: str) -> str:
        return self.story.archive.members[f"golden {name}"]

    async def _until(self, what: Callable[[], Any], why: str) -> Any:
        return await self.editor.until(what, _WAIT_S, why)

    async def _said(self, pattern: str) -> Any:
        """Return the newest match in the messages."""
        shown = self.editor.shown
        found = await self._until(lambda: re.findall(pattern, str(shown.messages)), pattern)
        return found[-1]

    # What the user does.

    async def step_open(self, path: str, text: str | None = None, language: str = "") -> None:
        await self.editor.open(path, language, text)

    async def step_close(self, path: str) -> None:
        await self.editor.close(self._uri(path))

    async def step_save(self, path: str) -> None:
        await self.editor.save(self._uri(path))

    async def step_type(self, path: str, old: str, new: str) -> None:
        """Replace the first ``old`` in a buffer; an empty one is its start."""
        text = self.editor.buffers[self._uri(path)].text
        assert old in text, f"{old!r} is not in {text!r}"
        await self.editor.change(self._uri(path), text.replace(old, new, 1))

    async def step_write(self, path: str, text: str) -> None:
        """Change a file behind the editor's back."""
        (self.root / path).write_text(text)

    async def step_rename(self, path: str, new_path: str) -> None:
        """Rename a file or folder in the editor, which tells of it."""
        uri, new_uri = self._uri(path), self._uri(new_path)
        (self.root / path).rename(self.root / new_path)
        if uri in self.editor.buffers:
            text = self.editor.buffers[uri].text
            await self.editor.close(uri)
            await self.editor.open(new_path, text=text)
        files = [{"oldUri": uri, "newUri": new_uri}]
        await self.editor.notify("workspace/didRenameFiles", {"files": files})

    async def step_remove(self, path: str) -> None:
        """Delete a file behind the editor's back."""
        (self.root / path).unlink()

    async def step_write_large(self, path: str, megabytes: str) -> None:
        """Put a file of text of that many megabytes there."""
        with (self.root / path).open("wb") as file:
            for _ in range(int(megabytes)):
                file.write(b"0123456789abcde\n" * 65536)

    async def step_permit(self, path: str, mode: str) -> None:
        """Give a file these permissions, in octal."""
        (self.root / path).chmod(int(mode, 8))

    async def step_add_folder(self, name: str, path: str) -> None:
        """Open one more folder in the same window."""
        folder = {"uri": self._uri(path), "name": name}
        params = {"event": {"added": [folder], "removed": []}}
        await self.editor.notify("workspace/didChangeWorkspaceFolders", params)

    async def step_prompt(self, text: str) -> None:
        await self.editor.execute("agent-ls.prompt", text)

    async def step_ask(self, text: str, place: Place) -> None:
        """Ask from the panel, at a line (``a.py:3``) or with lines selected (``a.py:3-4``)."""
        last = place.last_line if place.last_line > place.line else None
        anchor = {"uri": self._uri(place.path), "line": place.line, "lastLine": last}
        await self.editor.request("agent/prompt", {"text": text, "anchor": anchor})

    async def step_command(self, name: str, *arguments: Any) -> None:
        await self.editor.execute(f"agent-ls.{name}", *arguments)

    async def step_fails(self, name: str, *arguments: Any) -> None:
        """Run a command; the last argument is what its error must say."""
        *given, expected = arguments
        with pytest.raises(ServerError, match=expected):
            await self.editor.execute(f"agent-ls.{name}", *given)

    async def step_failure(self, text: str) -> None:
        """The user reads a failed command's error once; Neovim itself shows it."""
        if (self.kind.hello.get("clientInfo") or {}).get("name") == "Neovim":
            await self.step_nomessage(text)
        else:
            await self.step_message(text)

    async def step_request(self, method: str, params: Any, expected: str = "") -> None:
        """Send a request; the answer's JSON must match."""
        answer = json.dumps(await self.editor.request(method, params))
        assert re.search(expected, answer), f"the answer is {answer}"

    async def step_notify_diagnostics(self, place: Place, message: str) -> None:
        """Tell what another server found on this line, something far below, and a hint of ours."""
        found = [
            {"line": line, "endLine": line, "message": text, "source": source}
            for line, text, source in (
                (place.line, message, "other"),
                (place.line + 50, "Far away", "other"),
                (place.line, "agent-ls changed 1 line. Keep or undo.", "agent-ls"),
            )
        ]
        params = {"uri": self._uri(place.path), "diagnostics": found}
        await self.editor.notify("agent/editorDiagnostics", params)

    async def step_another_says(self, place: Place, message: str = "") -> None:
        """Another server shows this one problem in a document; without a message, none."""
        at = {"line": place.line, "character": 0}
        problem = {"range": {"start": at, "end": at}, "message": message, "source": "other"}
        self.editor.others[self._uri(place.path)] = [problem] if message else []

    async def step_answer(self, words: str) -> None:
        """Answer, by its id, what a message said waits."""
        kind, subject_id = await self._said(r"(\w+)\.resolve with (\w+)")
        await self.step_command(f"{kind}.resolve", subject_id, words)

    async def step_answer_update(self, choice: str, settled: str) -> None:
        """Answer, as the panel does, what an update said waits; say whether that settled it."""
        params = {"approvalId": self._asked(), "choice": choice}
        await self.step_request("agent/approval/resolve", params, f'"settled": {settled}')

    async def step_rewrite(self, golden: str, old: str, new: str) -> None:
        """Change the one text that what waits is, as an editor shows it, and run it with that."""
        asked = {"approvalId": self._asked()}
        found = await self.editor.request("agent/approval/text", asked)
        path = found["location"] and found["location"]["path"]
        told = f"{path}\n{found['before']}\n---\n{found['text']}"
        assert told.strip() == self._golden(golden).strip(), told
        text = found["text"].replace(old, new)
        params = {**asked, "choice": "amend", "text": text}
        await self.step_request("agent/approval/resolve", params, '"settled": true')

    async def step_no_single_text(self) -> None:
        """What waits is no single text: its arguments are changed instead."""
        asked = {"approvalId": self._asked()}
        await self.step_request("agent/approval/text", asked, '"text": null')
        params = {**asked, "choice": "amend", "text": "x"}
        with pytest.raises(ServerError, match="no single text"):
            await self.editor.request("agent/approval/resolve", params)

    def _asked(self) -> str:
        """Return the id of the approval that an update said last."""
        asked = [
            one["approvalId"]
            for one in self.editor.shown.updates
            if one["sessionUpdate"] == "permission_request"
        ]
        return asked[-1]

    async def step_converse(self) -> None:
        """Open the conversation, as the user does, by its command."""
        self.chat = Path(await self.editor.execute("agent-ls.conversation"))
        await self.step_reread()

    async def step_reread(self) -> None:
        """Open the conversation's file, or open it again."""
        if self._uri("chat") in self.editor.buffers:
            await self.editor.close(self._uri("chat"))
        await self.editor.open(str(self.chat), "markdown")

    async def step_write_below(self, words: str) -> None:
        """Write at the end of the conversation; ``FIRST`` is the first session's id."""
        if "FIRST" in words:
            first = next(
                one.text for uri, one in self.editor.buffers.items() if "agent-ls.md" in uri
            )
            words = words.replace("FIRST", re.findall(r"ses_\w+", first)[0])
        text = self.editor.buffers[self._uri("chat")].text
        await self.editor.change(self._uri("chat"), text + words)

    async def step_send(self, title: str, before: str = "") -> None:
        """Take the code action in the conversation whose title contains this.

        ``before`` is where the cursor is; without it, at the end.
        """
        buffer = self.editor.buffers[self._uri("chat")]
        await self._until(lambda: before in buffer.text or None, before)
        line = buffer.text[: buffer.text.rindex(before)].count("\n")
        await self.step_codeaction(Place("chat", line, line), title)

    async def step_chat(self, golden: str) -> None:
        """Wait until the conversation's buffer is the golden.

        Not where the editor is left to read the file again: `chat_file` says what is in it.
        """
        if self.editor.kind.reloads_files:
            return
        buffers, uri = self.editor.buffers, self._uri("chat")
        await self._until(
            lambda: self._is_chat(buffers[uri].text, golden) or None, f"the text {golden}"
        )

    async def step_chat_file(self, golden: str) -> None:
        """The conversation's file comes to be the golden, for the user alone."""
        for _ in range(_WAIT_S * 5):
            if self.chat.exists() and self._is_chat(self.chat.read_text(), golden):
                break
            await self._news(0.2)
        self._is_chat(self.chat.read_text(), golden, must=True)
        assert self.chat.stat().st_mode & 0o777 == 0o600

    def _is_chat(self, text: str, golden: str, *, must: bool = False) -> bool:
        told = re.sub(r"ses_\w+", "ses_…", text)
        told = re.sub(r"[\d,]+ tokens(, \$[\d.]+)?", "N tokens", told)
        assert told == self._golden(golden) or not must, told
        return told == self._golden(golden)

    async def step_regions(self, kind: str, golden: str) -> None:
        """The folds, symbols or links of the conversation, each as one line."""
        method = {"folds": "foldingRange", "symbols": "documentSymbol", "links": "documentLink"}
        params = {"textDocument": {"uri": self._uri("chat")}}
        found = await self.editor.request(f"textDocument/{method[kind]}", params)
        lines = self.editor.buffers[self._uri("chat")].text.split("\n")
        if kind == "folds":
            told = [f"{lines[one['startLine']]} … {lines[one['endLine']]}" for one in found]
        elif kind == "symbols":
            told = [f"{lines[one['range']['start']['line']]}: {one['name']}" for one in found]
        else:
            told = []
            for one in found:
                start, end = one["range"]["start"], one["range"]["end"]
                words = lines[start["line"]][start["character"] : end["character"]]
                name = await self._followed(one)
                told.append(re.sub(r"(ses|trn)_\w+", r"\1_…", f"{words}: {name}"))
        assert told == self._golden(golden).splitlines(), told

    async def _followed(self, link: Mapping[str, Any]) -> str:
        """Open what a link leads to, as an editor does, and return its name."""
        whole = await self.editor.request("documentLink/resolve", link)
        uri = whole["target"]
        if uri.startswith("agent-ls:"):
            shown = await self.editor.request("workspace/textDocumentContent", {"uri": uri})
            assert shown["text"]
        else:
            assert self.editor.path_of(uri).read_text()
        return re.sub(r"^\w+(?=\.agent-ls)", "…", self.editor.path_of(uri).name)

    async def step_asks_to_complete(self) -> None:
        """The editor asks in conversations alone if it can take that, else in every document."""
        editor = self.editor
        declared = editor.capabilities.get("textDocument", {})
        names = [
            one
            for one in ("completion", "semanticTokens")
            if (declared.get(one) or {}).get("dynamicRegistration")
        ]
        if names:
            registered = await self._until(lambda: editor.registered, "registered")
            assert [one["method"] for one in registered] == [f"textDocument/{n}" for n in names]
            for one in registered:
                selector = one["registerOptions"]["documentSelector"]
                assert selector == [{"pattern": "**/*.agent-ls.md"}], selector
        for one in ("completion", "semanticTokens"):
            is_static = editor.server_capabilities.get(f"{one}Provider") is not None
            assert is_static != (one in names), one

    async def step_coloured(self, golden: str, words: str = "", path: str = "chat") -> None:
        """With these words written at the end, the document's tokens are the golden's lines."""
        uri = self._uri(path)
        text = self.editor.buffers[uri].text
        await self.editor.change(uri, text + words)
        found = await self.editor.request(
            "textDocument/semanticTokens/full", {"textDocument": {"uri": uri}}
        )
        lines, line, start, told = (text + words).split("\n"), 0, 0, list[str]()
        for at in range(0, len(found["data"]), 5):
            down, right, length, kind, _ = found["data"][at : at + 5]
            line, start = line + down, right + (0 if down else start)
            names = ("comment", "keyword", "function", "string")
            told.append(f"{names[kind]}: {lines[line][start : start + length]}")
        assert told == self._golden(golden).splitlines(), told
        await self.editor.change(uri, text)

    async def step_completed(self, words: str, golden: str, path: str = "chat") -> None:
        """Write words at the end of a document; behind them the golden's lines are offered.

        The words are taken out again, as a user would who looks only.
        """
        uri = self._uri(path)
        text = self.editor.buffers[uri].text
        await self.editor.change(uri, text + words)
        lines = (text + words).split("\n")
        at = {"line": len(lines) - 1, "character": len(lines[-1])}
        params = {"textDocument": {"uri": uri}, "position": at}
        found = await self.editor.request("textDocument/completion", params)
        items = found["items"] if found else []
        told = [
            f"{one['textEdit']['newText']}: {one['label']} {one.get('detail') or ''}".rstrip()
            for one in items
        ]
        told = [re.sub(r"ses_\w+", "ses_…", one) for one in told]
        assert told == self._golden(golden).splitlines(), told
        await self.editor.change(uri, text)

    async def step_returned(self, *words: str) -> None:
        """The user gets these words back: in the panel's update, else in one message."""
        if self.editor.kind is KINDS["panel"]:
            for one in words:
                await self.step_update("cancel_requested", re.escape(one))
        else:
            await self.step_message(".*".join(["^Stopped before", *map(re.escape, words)]))

    async def step_stop(self) -> None:
        await self.editor.execute("agent-ls.stop")

    async def step_cancel(self) -> None:
        """Press cancel where the progress is shown."""
        token = await self._until(lambda: next(iter(self.editor.shown.progress), None), "progress")
        await self.editor.notify("window/workDoneProgress/cancel", {"token": token})

    async def step_behave(self, **how: str) -> None:
        """Make the editor treat edits or message boxes otherwise from now on."""
        self.next_pick = how.pop("next_pick", None)
        for name, value in how.items():
            assert hasattr(self.editor, name), f"an editor has no {name}"
            setattr(self.editor, name, value)

    async def step_types_first(self, path: str, text: str) -> None:
        """Have the user type at the start of a file when the next edit comes."""
        self.editor.edits, self.editor.typed = "typing", (self._uri(path), text)

    async def step_kill(self) -> None:
        await self.editor.kill()

    async def step_quit(self) -> None:
        """Close the editor."""
        assert await self.editor.stop() == 0

    async def step_start(self) -> None:
        await self.start()

    # What the editor offers.

    async def _menu(self, place: Place) -> list[Any]:
        return await self.editor.code_actions(self._uri(place.path), place.line, place.last_line)

    async def _actions(self, place: Place) -> list[Any]:
        """Return the code actions, and in place of *More…* those behind it."""
        return [one for each in await self._menu(place) for one in (_behind(each) or [each])]

    async def step_codeaction(self, place: Place, title: str) -> None:
        """Choose the one code action whose title contains this, behind *More…* if it is there."""
        wanted = (await self._offered(place, title))["title"]
        # The menu may change while the agent works, so an action is known by its title.
        shown = [one for one in await self._menu(place) if one["title"] == wanted]
        if shown:
            await self.editor.choose(shown[0])
        else:
            await self._more(place, wanted)

    async def _more(self, place: Place, title: str) -> None:
        """Choose *More…*, and this among what it shows, as this editor shows it."""
        [more] = [one for one in await self._menu(place) if _behind(one)]
        if not self.editor.kind.knows_message_requests:
            await self.editor.choose(more)
            found = await self._menu(place)
            while title not in [one["title"] for one in found]:
                await self._news(0.2)
                found = await self._menu(place)
            await self.editor.choose(next(one for one in found if one["title"] == title))
            return
        before, self.editor.pick = self.editor.pick, title
        await self.editor.choose(more)
        messages = self.editor.shown.messages
        asked = await self._until(
            lambda: next((one for one in messages if one["message"] == "Agent"), None), "the rest"
        )
        # A menu is no message to the user.
        messages.remove(asked)
        self.editor.pick = before

    async def step_codeaction_twice(self, place: Place, title: str) -> None:
        """Choose the one code action whose title contains this, and then once more."""
        action = await self._offered(place, title)
        await self.editor.choose(action)
        await self.editor.choose(action)

    async def step_offered(self, place: Place, title: str) -> None:
        """The one code action whose title contains this is there, soon; it is not chosen."""
        await self._offered(place, title)

    async def _offered(self, place: Place, title: str) -> Any:
        found: list[Any] = []
        for _ in range(_WAIT_S * 5):
            actions = await self._actions(place)
            found = [one for one in actions if title in one["title"]]
            if found:
                break
            await self._news(0.2)
        assert len(found) == 1, f"{len(found)} actions match, of {[o['title'] for o in actions]}"
        return found[0]

    async def _news(self, timeout_s: float) -> None:
        """Wait for anything new, for a moment at most."""
        before = len(str(self.editor.shown))
        with contextlib.suppress(TimeoutError):
            await self.editor.until(
                lambda: len(str(self.editor.shown)) != before or None, timeout_s
            )

    async def step_noaction(self, place: Place, title: str) -> None:
        """No code action there has this in its title, or none has it any more soon."""
        titles: list[str] = []
        for _ in range(_WAIT_S * 5):
            titles = [one["title"] for one in await self._actions(place)]
            if not any(title in one for one in titles):
                return
            await self._news(0.2)
        raise AssertionError(f"offered: {titles}")

    async def step_actions(
        self, place: Place, golden: str, only: str = "", characters: str = "0"
    ) -> None:
        """The menu is this; what stands behind *More…* is indented below it.

        ``only`` is the kind that the editor asks for; ``characters`` are selected in the last line.
        """
        end = {"line": place.last_line, "character": int(characters)}
        params = {
            "textDocument": {"uri": self._uri(place.path)},
            "range": {"start": {"line": place.line, "character": 0}, "end": end},
            "context": {"diagnostics": [], **({"only": [only]} if only else {})},
        }
        titles: list[str] = []
        for one in await self.editor.request("textDocument/codeAction", params):
            titles += [one["title"], *(f"  {each['title']}" for each in _behind(one))]
        assert titles == self._golden(golden).splitlines(), f"offered: {titles}"

    async def step_hover(self, place: Place, *texts: str) -> None:
        params = {
            "textDocument": {"uri": self._uri(place.path)},
            "position": {"line": place.line, "character": 0},
        }
        answer = await self.editor.request("textDocument/hover", params)
        shown = answer["contents"]["value"] if answer else ""
        for text in texts:
            assert text in shown, f"hover shows {shown!r}"

    async def step_lens(self, place: Place, title: str) -> None:
        params = {"textDocument": {"uri": self._uri(place.path)}}
        found = await self.editor.request("textDocument/codeLens", params)
        chosen = [
            one
            for one in found
            if one["range"]["start"]["line"] == place.line and one["command"]["title"] == title
        ]
        assert len(chosen) == 1, f"lenses: {found}"
        command = chosen[0]["command"]
        await self.editor.execute(command["command"], *command["arguments"])

    async def step_lenses(self, path: str, golden: str) -> None:
        """The lenses of a document are these, as ``line: title``."""
        params = {"textDocument": {"uri": self._uri(path)}}
        found = await self.editor.request("textDocument/codeLens", params)
        told = [f"{one['range']['start']['line'] + 1}: {one['command']['title']}" for one in found]
        assert told == self._golden(golden).splitlines(), f"lenses: {told}"

    # What must come true.

    async def step_shown(self, golden: str, place: Place | None = None) -> None:
        """The server shows a document: this text, or a file at this place (``a.py:3``)."""
        shown = (await self._until(lambda: self.editor.opened, "a document that is shown")).pop(0)
        if place is not None:
            line = shown["selection"]["start"]["line"]
            assert (shown["uri"], line) == (self._uri(place.path), place.line), shown
            return
        if shown["uri"].startswith("agent-ls:"):
            answer = await self.editor.request(
                "workspace/textDocumentContent", {"uri": shown["uri"]}
            )
            text = answer["text"]
        else:
            text = self.editor.path_of(shown["uri"]).read_text()
        assert text == self._golden(golden), text

    async def step_wait(self, what: str, *words: str) -> None:
        """Wait for something that waits: ``approval``, ``question``, ``incomplete-action``,
        ``edit``; for the next ``end`` of a turn whose words match; or for any ``begin``.
        """
        if what == "end":
            self.ends += 1
            ends = await self._until(
                lambda: found if len(found := self._ends()) >= self.ends else None,
                f"end {self.ends}",
            )
            for one in words:
                assert re.search(one, ends[self.ends - 1]), f"it ended: {ends[self.ends - 1]}"
        elif what == "begin":
            await self._until(lambda: self.editor.shown.progress, "progress")
        else:
            await self._until(
                lambda: [one for one in self._diagnostics() if one.get("code") == what], what
            )

    def _ends(self) -> list[str]:
        values = (one for values in self.editor.shown.progress.values() for one in values)
        return [one.get("message", "") for one in values if one["kind"] == "end"]

    def _diagnostics(self) -> list[dict[str, Any]]:
        return [one for many in self.editor.shown.diagnostics.values() for one in many]

    async def step_diag(
        self, place: Place, text: str, source: str = "", severity: str = ""
    ) -> None:
        """Wait for a diagnostic on this line."""

        def there() -> Any:
            for one in self.editor.shown.diagnostics.get(self._uri(place.path), []):
                if (
                    one["range"]["start"]["line"] == place.line
                    and re.search(text, one["message"])
                    and source in (one.get("source") or "")
                    and severity in ("", str(one.get("severity")))
                ):
                    return one
            return None

        await self._until(there, f"a diagnostic {text!r}")

    async def step_nodiag(self, path: str, text: str = "") -> None:
        """Wait until no diagnostic of a file matches."""

        def gone() -> bool:
            found = self.editor.shown.diagnostics.get(self._uri(path), [])
            # A hint tells of a change and of nothing that is wrong.
            problems = [one for one in found if text or one.get("code") != "agent-change"]
            return not any(re.search(text, one["message"]) for one in problems)

        await self._until(lambda: gone() or None, f"no diagnostic {text!r}")

    async def step_hints(self, path: str, golden: str) -> None:
        """Wait until the hints of a file are these, as ``line-line: message``."""
        uri = self._uri(path)

        def told() -> list[str]:
            return [
                f"{one['range']['start']['line'] + 1}-{one['range']['end']['line'] + 1}: "
                f"{one['message']}"
                for one in self.editor.shown.diagnostics.get(uri, [])
                if (one["code"], one["severity"], one["source"]) == ("agent-change", 4, "agent-ls")
            ]

        expected = self._golden(golden).splitlines()
        await self._until(lambda: told() == expected or None, f"the hints {expected}")

    async def step_settles(self, place: Place, title: str, count: str) -> None:
        """A code action says that it is about so many of the hints that were published."""
        [action] = [one for one in await self._actions(place) if one["title"] == title]
        shown = self.editor.shown.diagnostics[self._uri(place.path)]
        about = action["diagnostics"]
        assert action.get("kind", "quickfix") == "quickfix"
        assert len(about) == int(count), about
        assert all(one in shown and one["code"] == "agent-change" for one in about), about

    async def step_edit(self, path: str, golden: str = "", text: str | None = None) -> None:
        """Wait until a buffer holds the golden text, or this one."""
        expected = self._golden(golden) if text is None else text
        uri = self._uri(path)
        await self._until(
            lambda: (
                (uri in self.editor.buffers and self.editor.buffers[uri].text == expected) or None
            ),
            f"{path} to be {expected!r}",
        )

    async def step_disk(self, path: str, golden: str | None = None) -> None:
        """The file on disk comes to be the golden, or, without one, is not there."""
        target = self.root / path

        def now() -> str | None:
            return target.read_bytes().decode() if target.exists() else None

        wanted = None if golden is None else self._golden(golden)
        for _ in range(_WAIT_S * 5):
            if now() == wanted:
                return
            await self._news(0.2)
        raise AssertionError(f"{path} is {now()!r} on disk")

    async def step_mode(self, path: str, mode: str) -> None:
        """The file on disk comes to have these permissions, in octal."""
        now = ""
        for _ in range(_WAIT_S * 5):
            now = f"{(self.root / path).stat().st_mode & 0o7777:o}"
            if now == mode:
                return
            await self._news(0.2)
        raise AssertionError(f"{path} has {now}")

    async def step_message(self, text: str) -> None:
        await self._until(
            lambda: [o for o in self.editor.shown.messages if re.search(text, o["message"])],
            f"a message {text!r}",
        )

    async def step_nomessage(self, text: str = "") -> None:
        found = [o["message"] for o in self.editor.shown.messages if re.search(text, o["message"])]
        assert not found, f"messages: {found}"

    async def step_log(self, text: str) -> None:
        await self._until(
            lambda: [o for o in self.editor.shown.log if re.search(text, o["message"])],
            f"a log line {text!r}",
        )

    async def step_told(self, text: str) -> None:
        """A message says it, or where a long one would block the editor, its log."""
        shown = self.editor.shown
        await self._until(
            lambda: [o for o in (*shown.messages, *shown.log) if re.search(text, o["message"])],
            f"a message or log line {text!r}",
        )

    async def step_progress(self, text: str) -> None:
        await self._until(
            lambda: [
                value
                for values in self.editor.shown.progress.values()
                for value in values
                if re.search(text, value.get("message") or value.get("title") or "")
            ],
            f"progress {text!r}",
        )

    async def step_update(self, kind: str, text: str = "") -> None:
        await self._until(
            lambda: [
                one
                for one in self.editor.shown.updates
                if one["sessionUpdate"] == kind and re.search(text, json.dumps(one))
            ],
            f"an update {kind} {text!r}",
        )

    async def step_noupdates(self) -> None:
        assert self.editor.shown.updates == []

    async def step_asked(self, text: str) -> None:
        """Wait until the model is asked something that contains this."""
        requests = self.model.requests
        await self._until(
            lambda: [one for one in requests if text in json.dumps(one.body)] or None, text
        )


def _behind(action: Mapping[str, Any]) -> list[Any]:
    """Return the choices that a code action opens."""
    command: Any = action.get("command") or {}
    if isinstance(command, str) or command.get("command") != "agent-ls.more":
        return []
    return command["arguments"][0]["choices"]
