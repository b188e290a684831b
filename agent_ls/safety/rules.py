"""Rules: what the user always allows or rejects, which they can list and revoke.

Owns one small file in the user's data folder, never one of the workspace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from agent_ls.domain.record import Record
from agent_ls.domain.rules import GRANT, PatternRule, RuleOptions, granted_rule
from agent_ls.safety.user_files import changing, read_json, user_file


class Rule(Record):
    """One decision that holds for all sessions of these folders."""

    grant: str
    """What it covers, as approvals name it: ``edit``, ``run_command:make test``, or a pattern as in
    ``rule run_command: pytest *``."""
    folders: tuple[str, ...]
    """Absolute, sorted: it holds when exactly these are open; none: everywhere."""
    decision: Literal["allow", "ask", "reject"]

    @property
    def word(self) -> str:
        """Return the decision as a user writes it."""
        return "deny" if self.decision == "reject" else self.decision

    @property
    def pattern(self) -> PatternRule | None:
        """Return the rule by pattern; None for any other."""
        rule = granted_rule(self.grant)
        return rule and rule.model_copy(update={"decision": self.word, "source": "rules"})


_RULES: TypeAdapter[tuple[Rule, ...]] = TypeAdapter(tuple[Rule, ...])


def rules_file() -> Path:
    """Return the file that holds the rules."""
    return user_file("rules.json")


@dataclass(frozen=True, slots=True)
class SavedRules:
    """The rules in a file that may not exist, and those in the settings.

    Other servers write the file, so nothing is cached.
    """

    file: Path
    options: RuleOptions = RuleOptions()

    def all(self) -> tuple[Rule, ...]:
        """Return the rules, oldest first; none when the file is missing.

        Errors: ``SettingsError`` when it cannot be read: a rejection must not be lost.
        """
        until_then = "Correct the file, or remove it to begin without rules."
        return read_json(self.file, _RULES, "rules", until_then) or ()

    def decision(self, grant: str, folders: Sequence[Path]) -> Literal["allow", "reject"] | None:
        """Return what holds for a grant when exactly these folders are open; None: nothing."""
        for rule in self._there(folders):
            if rule.grant == grant and rule.decision != "ask":
                return rule.decision
        is_allowed = any(
            one.grant == grant and one.decision == "allow" for one in self.patterns(folders)
        )
        return "allow" if is_allowed and grant.startswith(GRANT) else None

    def granted(self, folders: Sequence[Path]) -> tuple[str, ...]:
        """Return the grants that are always allowed there."""
        saved = [one for one in self._there(folders) if one.decision == "allow"]
        by_pattern = [one for one in self.patterns(folders) if one.decision == "allow"]
        return tuple(dict.fromkeys(one.grant for one in (*saved, *by_pattern)))

    def patterns(self, folders: Sequence[Path]) -> tuple[PatternRule, ...]:
        """Return the rules by pattern that hold there.

        Errors: as ``all``.
        """
        saved = (one.pattern for one in self._there(folders, or_everywhere=True))
        return (*self.options.patterns, *(one for one in saved if one is not None))

    def _there(self, folders: Sequence[Path], *, or_everywhere: bool = False) -> list[Rule]:
        rules = self.all()
        # Mostly there are none, and then nothing needs to be resolved.
        places = _names(folders) if rules else ()
        return [
            one for one in rules if one.folders == places or (or_everywhere and not one.folders)
        ]

    def add(
        self, grant: str, folders: Sequence[Path], decision: Literal["allow", "ask", "reject"]
    ) -> None:
        """Save a rule; it replaces an older one for the same grant and folders.

        Errors: ``SettingsError`` when the file cannot be read or written.
        """
        new = Rule(grant=grant, folders=_names(folders), decision=decision)
        same = (new.grant, new.folders)
        self._change(lambda old: (*(one for one in old if (one.grant, one.folders) != same), new))

    def revoke(self, grants: Collection[str], folders: Sequence[Path]) -> None:
        """Remove rules that allow these grants; keep rules that reject.

        Errors: ``SettingsError`` when the file cannot be read or written.
        """
        if not set(grants).isdisjoint(self.granted(folders)):
            places = _names(folders)
            gone = [Rule(grant=one, folders=places, decision="allow") for one in grants]
            self._change(lambda old: tuple(one for one in old if one not in gone))

    def forget(self, rule: Rule) -> None:
        """Remove a rule.

        Errors: ``SettingsError`` when the file cannot be read or written.
        """
        self._change(lambda old: tuple(one for one in old if one != rule))

    def _change(self, how: Callable[[tuple[Rule, ...]], tuple[Rule, ...]]) -> None:
        with changing(self.file, "rules") as write:
            write(_RULES.dump_json(how(self.all()), indent=2) + b"\n")


def _names(folders: Sequence[Path]) -> tuple[str, ...]:
    return tuple(sorted(str(folder.resolve()) for folder in folders))
