"""Rules that hold for good: written down once, told apart by folder, taken back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.rules import RuleOptions, WrittenRule
from agent_ls.safety.rules import SavedRules


def check(rules: SavedRules, grant: str, folders: list[Path], expected: str | None) -> None:
    assert rules.decision(grant, folders) == expected


def test_a_rule_holds_for_its_grant_and_folders_alone(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    rules = SavedRules(tmp_path / "data" / "rules.json")
    check(rules, "edit", [one], None)
    rules.add("edit", [one], "allow")
    rules.add("run_command:make", [one, two], "reject")
    for grant, folders, expected in (
        ("edit", [one], "allow"),
        ("edit", [two], None),
        ("edit", [one, two], None),
        ("edit_file", [one], None),
        ("run_command:make", [two, one], "reject"),
        ("run_command:make", [one], None),
    ):
        check(SavedRules(rules.file), grant, folders, expected)
    assert rules.granted([one]) == ("edit",)
    assert rules.granted([one, two]) == ()


def test_the_newest_rule_for_a_grant_holds_and_can_be_taken_back(tmp_path: Path) -> None:
    rules = SavedRules(tmp_path / "rules.json")
    rules.add("edit", [tmp_path], "allow")
    rules.add("edit", [tmp_path], "reject")
    check(rules, "edit", [tmp_path], "reject")
    (rule,) = rules.all()
    rules.forget(rule)
    check(rules, "edit", [tmp_path], None)


def test_rules_by_pattern_hold_in_their_folders_or_everywhere(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    rules = SavedRules(
        tmp_path / "rules.json", RuleOptions(allow=(WrittenRule(text="run_command: make *"),))
    )
    rules.add("rule run_command: cargo *", [], "allow")
    rules.add("rule run_command: npm *", [one], "ask")
    rules.add("rule run_command: git *", [one], "reject")
    for grant, folder, expected in (
        ("rule run_command: make *", two, "allow"),
        ("rule run_command: cargo *", two, "allow"),
        ("rule run_command: npm *", one, None),
        ("rule run_command: git *", one, "reject"),
        ("rule run_command: git *", two, None),
        ("run_command: make *", two, None),
    ):
        check(rules, grant, [folder], expected)
    allowed = ("rule run_command: make *", "rule run_command: cargo *")
    assert rules.granted([one]) == rules.granted([two]) == allowed
    assert [(rule.decision, rule.source) for rule in rules.patterns([one])] == [
        ("allow", ""), ("allow", "rules"), ("ask", "rules"), ("deny", "rules")
    ]  # fmt: skip


def test_rules_that_cannot_be_read_are_told_with_the_cause(tmp_path: Path) -> None:
    (tmp_path / "rules.json").mkdir()
    with pytest.raises(SettingsError, match=r"rules.json could not be read: Is a directory"):
        SavedRules(tmp_path / "rules.json").all()


@pytest.mark.parametrize("text", ["", "{", '[{"grant": "edit"}]', '{"grant": 1}', "[1]"])
def test_a_damaged_file_is_told_and_never_taken_for_an_empty_one(tmp_path: Path, text: str) -> None:
    rules = SavedRules(tmp_path / "rules.json")
    rules.file.write_text(text)
    for use in (
        lambda: rules.decision("edit", [tmp_path]),
        lambda: rules.granted([tmp_path]),
        lambda: rules.add("edit", [tmp_path], "allow"),
    ):
        with pytest.raises(SettingsError, match=r"rules.json"):
            use()
    assert rules.file.read_text() == text


def test_only_the_user_may_read_the_rules(tmp_path: Path) -> None:
    rules = SavedRules(tmp_path / "rules.json")
    rules.add("edit", [tmp_path], "allow")
    assert rules.file.stat().st_mode & 0o077 == 0


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="could not be written"):
        SavedRules(tmp_path / "file" / "rules.json").add("edit", [tmp_path], "allow")


_ADD = """
import sys
from pathlib import Path
from agent_ls.safety.rules import SavedRules
rules = SavedRules(Path(sys.argv[1]))
for number in range(20):
    rules.add(f"run_command:{sys.argv[2]}-{number}", [Path("/")], "reject")
"""


def test_servers_that_write_at_once_lose_no_rule(tmp_path: Path) -> None:
    rules = SavedRules(tmp_path / "data" / "rules.json")
    command = [sys.executable, "-c", _ADD, str(rules.file)]
    servers = [subprocess.Popen([*command, name]) for name in ("one", "two", "three")]
    assert [server.wait(timeout=60) for server in servers] == [0, 0, 0]
    found = {rule.grant for rule in rules.all()}
    expected = {f"run_command:{name}-{n}" for name in ("one", "two", "three") for n in range(20)}
    assert found == expected
    assert [one.name for one in rules.file.parent.iterdir()] == ["rules.json"]
