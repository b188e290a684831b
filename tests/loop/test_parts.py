"""How parts get what they need: each field by its type."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import NoneType
from typing import ClassVar, get_args, get_type_hints

import pytest

from agent_ls.loop.ports.clock import Clock
from agent_ls.loop.ports.workspace import Workspace
from agent_ls.wiring import Ports, SessionPorts, build
from agent_ls.workspace.disk import DiskWorkspace


@dataclass(frozen=True, slots=True)
class Here:
    """The ports of these tests."""

    place: Workspace
    absent: Clock | None = None


@dataclass(frozen=True, slots=True)
class Needy:
    """A part with a port under a name of its own, one it can do without, and options."""

    name: ClassVar[str] = "needy"
    folders: Workspace
    timer: Clock | None = None
    options: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options by the parts' names."""

    needy: str = "as set"


@dataclass(frozen=True, slots=True)
class Demanding:
    """A part that cannot do without a clock."""

    timer: Clock


def test_a_field_gets_the_port_of_its_type_and_the_options_of_its_part() -> None:
    place = DiskWorkspace(())
    assert build(Needy, Settings(), Here(place)) == Needy(place, None, "as set")


def test_a_port_that_is_missing_is_named() -> None:
    with pytest.raises(Exception, match=r"Demanding\.timer.*Clock"):
        build(Demanding, Settings(), Here(DiskWorkspace(())))


def test_no_two_ports_have_one_type() -> None:
    kinds = [
        kind
        for ports in (Ports, SessionPorts)
        for field in dataclasses.fields(ports)
        for hint in (get_type_hints(ports)[field.name],)
        for kind in (get_args(hint) or (hint,))
        if kind is not NoneType
    ]
    assert len(kinds) == len(set(kinds))
