"""What the user approved of each tool server, kept in their data folder beside the rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.mistakes import mistakes_said
from agent_ls.domain.record import Record
from agent_ls.mcp.definitions import Definition, PromptDefinition
from agent_ls.safety.user_files import changing, user_file


class Pin(Record):
    """One server as it was approved."""

    server: str
    place: str
    """The folder whose ``.mcp.json`` names it; empty: the user's own settings do."""
    launch: tuple[str, ...]
    """How it is started or reached, one fact a line; values of variables as hashes."""
    digest: str = ""
    """Hash of its definitions; empty: it was not asked for them yet."""
    tools: tuple[Definition, ...] = ()
    prompts: tuple[PromptDefinition, ...] = ()
    """Their texts are asked for at each call, in which the user sees them."""
    instructions: str | None = None
    """The server's words on how to use it, for the model; None: it was not asked for them yet."""


_PINS: TypeAdapter[tuple[Pin, ...]] = TypeAdapter(tuple[Pin, ...])


def pins_file() -> Path:
    """Return the file that holds the pins."""
    return user_file("tool-servers.json")


@dataclass(frozen=True, slots=True)
class SavedPins:
    """The pins in a file that may not exist. Other processes write it, so nothing is cached."""

    file: Path

    def all(self) -> tuple[Pin, ...]:
        """Return the pins. Errors: ``SettingsError`` when the file cannot be read."""
        try:
            return _PINS.validate_json(self.file.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return ()
        except OSError as error:
            raise SettingsError(f"{self.file} could not be read: {error.strerror}.") from error
        except ValidationError as error:
            raise SettingsError(
                f"{self.file} is not understood ({mistakes_said(error)}). Remove it; every tool "
                "server is then asked about again."
            ) from error

    def find(self, server: str, place: str) -> Pin | None:
        """Return the pin of a server; errors: ``SettingsError``."""
        same = (one for one in self.all() if (one.server, one.place) == (server, place))
        return next(same, None)

    def save(self, pin: Pin) -> None:
        """Store a pin in place of the server's older one; errors: ``SettingsError``."""
        self._change(lambda old: (*_without(old, pin.server, pin.place), pin))

    def forget(self, server: str, place: str) -> None:
        """Remove the pin of a server; errors: ``SettingsError``."""
        self._change(lambda old: _without(old, server, place))

    def _change(self, how: Callable[[tuple[Pin, ...]], tuple[Pin, ...]]) -> None:
        with changing(self.file, "approved tool servers") as write:
            write(_PINS.dump_json(how(self.all()), indent=1) + b"\n")


def _without(pins: tuple[Pin, ...], server: str, place: str) -> tuple[Pin, ...]:
    return tuple(one for one in pins if (one.server, one.place) != (server, place))
