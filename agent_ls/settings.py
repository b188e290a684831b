"""The settings tree: read from every source, checked key by key, merged in one order.

Defaults < user file < its profile < ``AGENT_LS_*`` < workspace file and editor settings
< command line.
What a repository could control may never name what runs or where requests go, and before the
folder is trusted it may only tighten. Nothing here is fatal: what is wrong is collected.
"""

from __future__ import annotations

import dataclasses
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import platformdirs
from pydantic import ValidationError, create_model

from agent_ls import catalogue
from agent_ls.domain.errors import SettingsError
from agent_ls.domain.hooks import HookOptions
from agent_ls.domain.mistakes import UNKNOWN, mistakes
from agent_ls.domain.modes import Mode
from agent_ls.domain.record import Record, Trust
from agent_ls.domain.rules import RuleOptions
from agent_ls.extension.claude_home import Consent
from agent_ls.loop.hook_words import point_of
from agent_ls.loop.options import LoopOptions, ModelOptions
from agent_ls.mcp.configured import ToolServerOptions
from agent_ls.observers.otel import TelemetryOptions
from agent_ls.processes.reading import read_file
from agent_ls.safety.made_files import is_undecided, made_files
from agent_ls.safety.sandbox.probe import SandboxOptions
from agent_ls.safety.trust import TrustedFolders, trust_file

_ENV = "AGENT_LS_"
_ENV_SHORT = {
    "MODEL": ("model",),
    "MODE": ("mode",),
    "STORE_URL": ("store_url",),
    "API_BASE": ("provider", "api_base"),
    "SANDBOX": ("sandbox", "use"),
}
_ENV_READ_ELSEWHERE = ("API_KEY",)
_ENV_NOT_SETTINGS = frozenset(
    {
        *_ENV_READ_ELSEWHERE,
        *("EDITORS", "COMMAND", "PACKAGE"),
        *("HOOK", "FILE", "EDITED_FILE", "HOOK_INPUT", "HOOK_ERRORS"),
    }
)
"""The key is read by the provider's credentials, the next by the tests; the others are what
commands and hooks of ours are given, which may well call us."""

_RULES = ("rules",)
_STRICTNESS = list(Mode)


def _composed(name: str, parts: Iterable[type[Any]], base: type[Record] = Record) -> type[Record]:
    """Return a model with one field per part that has options: its name, their type and values."""
    found: dict[str, Any] = {}
    for part in parts:
        for one in dataclasses.fields(part):
            if one.name == "options":
                found[part.name] = (get_type_hints(part)["options"], one.default)
    return create_model(name, __base__=base, __module__=__name__, **found)


if TYPE_CHECKING:
    CheckerSettings = catalogue.COMMAND_CHECKER_OPTIONS
    PolicySettings = Record
    ToolSettings = Record
else:
    CheckerSettings = _composed(
        "CheckerSettings", catalogue.CHECKERS, catalogue.COMMAND_CHECKER_OPTIONS
    )
    PolicySettings = _composed("PolicySettings", catalogue.POLICIES)
    ToolSettings = _composed("ToolSettings", catalogue.TOOLS)


class Settings(Record):
    """Everything that can be set."""

    model: str = ""
    """A litellm model name, such as ``anthropic/claude-sonnet-5-5`` or ``ollama_chat/qwen3``."""
    profile: Annotated[str, Trust.NEVER] = ""
    """Which ``[profiles.NAME]`` of the user file is laid over the rest of it; empty: none."""
    mode: Mode = Mode.ASK
    """How much may happen without asking."""
    allowed_tools: tuple[str, ...] = ()
    """Tools the agent and its sub-agents may have, by name or pattern; empty: all."""
    dry_run: bool = False
    """Simulate changes and commands instead of carrying them out; reads run."""
    marker: str = "agent:"
    """What an instruction comment begins with; empty: no comment is one."""
    save_fallback: Literal["ask", "write", "never"] = "ask"
    """What happens to unsaved changes before a command, when the editor cannot save them."""
    change_hints: Literal["auto", "always", "never"] = "auto"
    """Whether open changes are hints among the diagnostics; auto: where no lenses tell of them."""
    findings: Literal["never", "deduplicated", "all"] = "deduplicated"
    """Which findings are diagnostics; deduplicated: not those that another server reports, too."""
    notices: Literal["all", "waiting", "failures"] = "all"
    """Which events show a message; waiting: all but that a turn is done; failures: only those."""
    store_url: Annotated[str, Trust.NEVER] = ""
    """``postgresql://USER@HOST/NAME``, or ``sqlite:///PATH``; empty: SQLite in the data folder."""
    telemetry: Annotated[TelemetryOptions, Trust.NEVER] = TelemetryOptions()
    """Where spans of what happens go; nowhere by default."""
    loop: LoopOptions = LoopOptions()
    """The machine's own numbers."""
    models: ModelOptions = ModelOptions()
    """Which models are asked besides the main one."""
    monitor: catalogue.MONITOR_OPTIONS = catalogue.MONITOR_OPTIONS()
    """What the monitor outside the loop looks for."""
    provider: Annotated[catalogue.PROVIDER_OPTIONS, Trust.NEVER] = catalogue.PROVIDER_OPTIONS()
    """How models are reached."""
    hooks: Annotated[HookOptions, Trust.NEVER] = HookOptions()
    """Commands of the user's own that look at calls and model requests."""
    mcp: Annotated[ToolServerOptions, Trust.NEVER] = ToolServerOptions()
    """Tool servers (Model Context Protocol), and how much of them the model gets."""
    sandbox: Annotated[SandboxOptions, Trust.NEVER] = SandboxOptions()
    """What holds commands to the workspace."""
    checkers: Annotated[CheckerSettings, Trust.NEVER] = CheckerSettings()
    """How ruff and tsc are found and run, and which commands check besides."""
    claude_home: Annotated[Consent, Trust.NEVER] = "ask"
    """Whether the commands, skills and sub-agents in ``~/.claude`` are read; ask: if you trust it
    (``agent-ls trust ~/.claude``)."""
    rules: RuleOptions = RuleOptions()
    """What is always allowed, asked for or denied, by pattern."""
    policies: PolicySettings = PolicySettings()
    """Options of the loop's policies."""
    tools: ToolSettings = ToolSettings()
    """Options of the tools."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings, and what of the sources could not be used."""

    settings: Settings
    problems: tuple[str, ...]
    """For a user: which key of which source, and why."""
    own_problems: tuple[str, ...] = ()
    """Those of what the user wrote; the others are a repository's or an editor's, or about
    variables of the environment that are no settings."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Where values come from."""

    name: str
    values: Mapping[str, Any]
    is_repository: bool = False
    """A repository may have written it."""
    is_trusted: bool = True


def user_file() -> Path:
    """Return where the user's own settings are."""
    return Path(platformdirs.user_config_dir("agent-ls")) / "config.toml"


def store_place(settings: Settings) -> str:
    """Return where the store is: what was set, else a file in the user's data folder."""
    default = Path(platformdirs.user_data_dir("agent-ls")) / "store.db"
    return settings.store_url or str(default)


def chosen_budget_usd(settings: Settings) -> float:
    """Return the money limit if it was set; 0 if it is the default."""
    chosen, default = (one.model_dump()["policies"]["budget"] for one in (settings, Settings()))
    limit_usd: float = chosen["max_cost_usd"]
    return 0.0 if limit_usd == default["max_cost_usd"] else limit_usd


def load_settings(
    *,
    folders: Iterable[Path] = (),
    editor: Mapping[str, Any] | None = None,
    command_line: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> LoadedSettings:
    """Read and merge all sources; ``folders`` are the workspace's, each with its own file.

    Never raises for what the sources hold. ``defaults`` are the caller's, below everything.
    """
    problems: list[str] = []
    foreign: list[str] = []
    roots = tuple(folders)
    trusted = TrustedFolders(trust_file())
    is_trusted = bool(roots) and all(map(trusted.is_trusted, roots))
    own = _read_toml(user_file(), problems)
    profiles: Any = own.pop("profiles", {})
    sources = [_Source("defaults", defaults or {}), _Source(str(user_file()), own)]
    # A mistake here ends nothing: another version's variable may be set for all programs.
    from_environment = _from_environment(environment or os.environ, foreign)
    for values in (command_line or {}, *from_environment, own):
        if "profile" in values:
            sources.append(_profile(profiles, values["profile"], problems))
            break
    sources += [_Source("environment", values) for values in from_environment]
    for root in roots:
        values = _values_of(root, foreign)
        sources.append(_Source(str(_file_of(root)), values, True, is_trusted))
    # Of a folder's settings of the editor, one may be what a command made.
    is_trusted = is_trusted and not made_files().undecided(roots)
    editor = dict(editor or {})
    if "profile" in editor:
        # The choice may be a repository's, so it counts as if the editor had sent the values.
        chosen = _profile(profiles, editor.pop("profile"), foreign)
        sources.append(replace(chosen, is_repository=True, is_trusted=is_trusted))
    sources.append(_Source("editor settings", editor, True, is_trusted))
    sources.append(_Source("command line", command_line or {}))
    settings = Settings()
    for source in sources:
        found = foreign if source.is_repository else problems
        for keys, value in _leaves(source.values):
            settings = _merge(settings, source, keys, value, found)
    return LoadedSettings(settings, (*problems, *foreign), tuple(problems))


def _profile(profiles: object, name: object, problems: list[str]) -> _Source:
    """Return a profile's values; none, with the problem noted, if there is no such profile."""
    known = cast("dict[str, object]", profiles) if isinstance(profiles, dict) else {}
    values = known.get(str(name))
    if name and not isinstance(values, dict):
        names = ", ".join(known) or "none"
        problems.append(f"profile {name!r} is not in {user_file()}; the profiles there: {names}.")
    found = cast("dict[str, Any]", values) if isinstance(values, dict) else {}
    return _Source(f"{user_file()}: profile {name}", found)


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """What of a folder's settings does not count, key by key, for a user."""

    never: tuple[str, ...]
    """Ignored, trusted or not."""
    later: tuple[str, ...]
    """Ignored until the folder is trusted."""


def what_a_folder_may_set(given: str | Mapping[str, Any], *, is_trusted: bool) -> FolderSettings:
    """Return what of these settings, as TOML or as a table, would be ignored in a workspace file.

    Errors: ``SettingsError`` for a text that is no TOML.
    """
    if isinstance(given, str):
        try:
            given = tomllib.loads(given)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise SettingsError(f"It cannot be read, so none of it counts: {error}.") from None
    never, later = list[str](), list[str]()
    settings = Settings()
    for keys, value in _leaves(given):
        refused = list[str]()
        _merge(settings, _Source("it", given, True, True), keys, value, refused)
        never += refused
        if not refused:
            settings = _merge(settings, _Source("it", given, True, is_trusted), keys, value, later)
    return FolderSettings(tuple(never), tuple(later))


def mistakes_in_settings(values: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a settings tree of the user's, each with its key."""
    settings, found = Settings(), list[str]()
    for keys, value in _leaves(values):
        settings = _merge(settings, _Source("", values), keys, value, found)
    return [one.removeprefix(": ") for one in found]


def folder_settings(folder: Path) -> Mapping[str, Any]:
    """Return the values of a folder's own settings file; empty if it cannot be read, or if a
    command made it and the user has not kept it.
    """
    return _values_of(folder, [])


def _values_of(folder: Path, problems: list[str]) -> dict[str, Any]:
    path = _file_of(folder)
    if path.exists() and is_undecided(path):
        problems.append(f"{path}: a command made it, and none of it counts until you keep it.")
        return {}
    return _read_toml(path, problems)


def settings_switched_on(values: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which of these values, of a folder's, count only after trust, and which never do."""
    settings = load_settings().settings
    before, after = (_Source("", {}, is_repository=True, is_trusted=one) for one in (False, True))
    on: list[str] = []
    off: list[str] = []
    for keys, value in _leaves(values):
        if _unknown(keys, value):
            continue
        shown = f"{'.'.join(keys)} = {json.dumps(value, default=str)}"
        if _refusal(settings, after, keys, value):
            off.append(shown)
        elif _refusal(settings, before, keys, value):
            on.append(shown)
    return tuple(on), tuple(off)


def _file_of(folder: Path) -> Path:
    return folder / ".agent-ls" / "config.toml"


def _merge(
    settings: Settings, source: _Source, keys: tuple[str, ...], value: Any, problems: list[str]
) -> Settings:
    """Return the settings with one more value, or as they were, with the problem noted."""
    key = ".".join(keys)
    if refusal := _refusal(settings, source, keys, value):
        ignored = f"{key} was ignored: {refusal}"
        problems.append(f"{source.name}: {_unknown(keys, value) or ignored}.")
        return settings
    data = settings.model_dump(mode="json")
    place = data
    for part in keys[:-1]:
        # Tables by name, of models or providers, begin empty; an unknown name is found below.
        inner = place.setdefault(part, {})
        if not isinstance(inner, dict):
            problems.append(f"{source.name}: {key} is not a setting.")
            return settings
        place = cast("dict[str, Any]", inner)
    if keys[:-1] == _RULES and isinstance(place.get(keys[-1]), list):
        # Rules of all sources hold, so one source cannot take those of another away.
        value = [*place[keys[-1]], {"text": value, "source": source.name}]
    place[keys[-1]] = value
    if str(value).lower() == "nan":
        problems.append(f"{source.name}: {key}: is not a number.")
        return settings
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        for where, why in mistakes(error):
            is_unknown = why == UNKNOWN and f"{key}.".startswith(f"{where}.")
            words = f"is not a setting{_meant(keys)}" if is_unknown else f"{why}."
            problems.append(f"{source.name}: {key if is_unknown else where}: {words}")
        return settings


def _meant(keys: tuple[str, ...]) -> str:
    """Return the end of a sentence about an unknown key, with the setting that it may stand for."""
    known = Settings().model_dump()
    for at, key in enumerate(keys):
        if key in known:
            inner = known[key]
            known = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
            continue
        # Two letters in the wrong order are the most frequent slip.
        swapped = [one for one in known if sorted(one) == sorted(key.lower())]
        near = swapped[:1] or get_close_matches(key.lower(), known, 1)
        if at + 1 < len(keys):
            near = [one for one in near if isinstance(known[one], dict)]
        meant = (keys[0] == "hooks" and point_of(key)) or "".join(near)
        return f": did you mean {'.'.join((*keys[:at], meant, *keys[at + 1 :]))}?" if meant else "."
    return "."


def _unknown(keys: tuple[str, ...], value: Any) -> str:
    """Return that this is no setting at all; empty if it is one."""
    tree = value
    for key in reversed(keys):
        tree = {key: tree}
    try:
        Settings.model_validate(tree)
    except ValidationError as error:
        whole = ".".join(keys)
        is_unknown = any(
            why == UNKNOWN and f"{whole}.".startswith(f"{where}.") for where, why in mistakes(error)
        )
        return f"{whole}: is not a setting" if is_unknown else ""
    return ""


def _refusal(settings: Settings, source: _Source, keys: tuple[str, ...], value: Any) -> str:
    """Return why a source that a repository may have written cannot set this; empty if it can."""
    if not source.is_repository:
        return ""
    if Trust.NEVER in _trust(keys):
        return "it can only be set in the user file, the environment or the command line"
    if (keys, value) == (("mode",), str(Mode.AUTO)):
        return "neither a folder, trusted or not, nor an editor may choose that"
    if _loosens(settings, keys, value):
        return "a folder may not take back what was set for it, trusted or not"
    if source.is_trusted or _tightens(settings, keys, value):
        return ""
    return "the folder is not trusted yet, so its settings may only tighten"


def _trust(keys: tuple[str, ...]) -> set[object]:
    """Return the annotations of an option and of the tables around it."""
    found: set[object] = set()
    model: Any = Settings
    for key in keys:
        facts = getattr(model, "model_fields", {}).get(key)
        if facts is None:
            break
        found.update(one for one in facts.metadata if isinstance(one, Trust))
        model = facts.annotation
    return found


def _loosens(settings: Settings, keys: tuple[str, ...], value: Any) -> bool:
    """Say whether a value takes back a restriction of the user's."""
    if keys == ("dry_run",):
        return settings.dry_run and value is not True
    if keys == ("allowed_tools",) and settings.allowed_tools:
        if not isinstance(value, list) or not value:
            return True
        return not set(cast("list[object]", value)) <= set(settings.allowed_tools)
    return False


def _tightens(settings: Settings, keys: tuple[str, ...], value: Any) -> bool:
    """Say whether a value makes the agent more careful than it is."""
    if keys in (("dry_run",), ("allowed_tools",)):
        return bool(value)
    if keys in ((*_RULES, "ask"), (*_RULES, "deny")):
        return True
    if keys == ("change_hints",):
        return value == "always"
    if keys == ("mode",):
        known = [str(mode) for mode in _STRICTNESS]
        return value in known and known.index(value) <= _STRICTNESS.index(settings.mode)
    if Trust.LOWER not in _trust(keys) or isinstance(value, bool):
        return False
    now: Any = settings
    for part in keys:
        now = getattr(now, part, None)
    if not isinstance(value, int | float) or not isinstance(now, int | float) or value <= 0:
        return False
    # Nought is no limit at all.
    return now == 0 or value <= now


def _leaves(
    values: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value with its path of keys."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(cast("Mapping[str, Any]", value), (*above, str(key)))
        elif above == _RULES and isinstance(value, list):
            # One by one, so that a mistake in one rule does not lose the others.
            yield from (((*above, str(key)), one) for one in cast("list[object]", value))
        else:
            yield (*above, str(key)), value


def _from_environment(environment: Mapping[str, str], problems: list[str]) -> list[dict[str, Any]]:
    """Return ``AGENT_LS_A__B=x`` as ``{"a": {"b": "x"}}``, one each; pydantic reads the text.

    Notes a variable that no setting has, with the nearest one.
    """
    found: list[dict[str, Any]] = []
    for name, value in environment.items():
        rest = name.removeprefix(_ENV)
        if rest == name or rest in _ENV_NOT_SETTINGS or not value:
            continue
        keys = _ENV_SHORT.get(rest) or tuple(rest.lower().split("__"))
        nested: Any = value
        for key in reversed(keys):
            nested = {key: nested}
        if _unknown(keys, value):
            problems.append(_unknown_variable(name))
        else:
            found.append(nested)
    return found


def _unknown_variable(name: str) -> str:
    known = [*_ENV_SHORT, *_ENV_READ_ELSEWHERE, *_variables(Settings().model_dump())]
    rest = name.removeprefix(_ENV)
    swapped = [one for one in known if sorted(one) == sorted(rest)]
    near = swapped or get_close_matches(rest, known, 1)
    meant = f": did you mean {_ENV}{near[0]}?" if near else ""
    return f"environment: {name} is not a setting, so it was ignored{meant or '.'}"


def _variables(values: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the names of the variables for these settings, without the prefix."""
    for key, value in values.items():
        name = f"{above}{key}".upper()
        yield name
        if isinstance(value, Mapping):
            yield from _variables(cast("Mapping[str, Any]", value), f"{name}__")


def _read_toml(path: Path, problems: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(read_file(path).decode("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        problems.append(f"{path}: could not be read, so none of it counts: {why}.")
        return {}
