"""Rules that hold for good: written down once, told apart by folder, taken back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_ls.domain.errors import SettingsError
from agent_ls.domain.rules import RuleOptions, WrittenRule
from agent_ls.safety.rule_list import add, listed, remove
from agent_ls.safety.rules import SavedRules
from agent_ls.safety.user_files import changing


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
    rules.add("write", [tmp_path], "allow")
    rules.forget(rule)
    check(rules, "edit", [tmp_path], None)
    check(rules, "write", [tmp_path], "allow")


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


def test_rules_are_listed_with_their_place_and_removed_by_number_or_words(tmp_path: Path) -> None:
    assert listed(SavedRules(tmp_path / "rules.json")) == ["There are no rules."]
    written = RuleOptions(
        allow=(WrittenRule(text="edit: docs/**"),),
        deny=(WrittenRule(text="read: keys/**", source="config.toml"),),
    )
    rules = SavedRules(tmp_path / "data" / "rules.json", written)
    for text in ("allow pytest *", "deny read: secrets/**", "ask git push *", "host: pypi.org"):
        add(rules, text, [tmp_path])
    add(rules, "deny ./a.sh", [])
    rules.add("edit", [tmp_path], "allow")
    assert listed(rules) == [
        f"  1  allow   run_command: pytest *  in {tmp_path} (saved)",
        f"  2  deny    read: secrets/**  in {tmp_path} (saved)",
        f"  3  ask     run_command: git push *  in {tmp_path} (saved)",
        f"  4  allow   host: pypi.org  in {tmp_path} (saved)",
        "  5  deny    run_command: ./a.sh  in every folder (saved)",
        f"  6  allow   edit  in {tmp_path} (saved)",
        "  -  deny    read: keys/**  from config.toml",
        "  -  allow   edit: docs/**  from settings",
    ]
    for text in ("edit", "3", "rule host: pypi.org", "deny  read: secrets/**", "allow pytest *"):
        remove(rules, text)
    for text in ("allow ./a.sh", "2", "0", "deny read: keys/**", "x", ""):
        with pytest.raises(SettingsError, match="there is no saved rule"):
            remove(rules, text)
    assert [one.grant for one in rules.all()] == ["rule run_command: ./a.sh"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pytest *", "begin with allow, ask or deny"),
        ("alow pytest", "begin with allow, ask or deny"),
        ("deny", "is no rule: write one as"),
        ("deny nothing: x", "is no rule: write one as"),
    ],
)
def test_what_is_no_rule_is_told_and_saves_nothing(tmp_path: Path, text: str, why: str) -> None:
    rules = SavedRules(tmp_path / "rules.json")
    with pytest.raises(SettingsError, match=why):
        add(rules, text, [tmp_path])
    assert rules.all() == ()


TOOLS = ("read_file", "run_command", "grep")
IDLE: dict[str, str] = {
    "deny git push && *": "no program is called like that",
    "deny FOO=1 make": "no program is called like that",
    "ask cat x | sh": "no program is called like that",
    "deny git push *": "",
    "deny *": "",
    "deny rm -rf *": "",
    'deny git commit -m "a b" *': "",
    "deny sudo *": "",
    "deny ./deploy.sh *": "",
    "deny Bash(npm run test:*)": "",
    "deny read: secrets/**": "",
    "deny read: **/*.pem": "",
    "deny edit: {src,docs}/**": "",
    "deny edit: app/[slug]/**": "",
    "deny edit: docs/": "",
    "deny read: .": "",
    "deny read: ~/.ssh/**": "",
    "deny read: //etc/**": "",
    "deny read: {project}/keys/**": "",
    "deny read: /keys/**": "",
    "deny read: src/../secrets/**": "no path is matched with .. in it",
    "deny read: ../secrets/**": "no path is matched with .. in it: write it whole, as in //home",
    "deny read: /etc/passwd": "which has no etc; for the top of the disk, write //etc/passwd",
    "deny tool: Bash": "those of agent-ls are grep, read_file, run_command",
    "deny tool: grep": "",
    "deny tool: GREP": "",
    "deny tool: linear/*": "",
    "deny mcp__linear__list": "",
    "deny tool: *": "",
    "ask host: https://example.com/docs": "a host is a name alone",
    "deny host: pypi.org:443": "",
    "deny host: *.example.com": "",
    "allow git push && *": "",
}


@pytest.mark.parametrize("text", IDLE)
def test_a_denial_that_can_never_apply_is_saved_with_a_word(text: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "keys").mkdir(parents=True)
    rules = SavedRules(tmp_path / "rules.json")
    note = add(rules, text.replace("{project}", str(project)), [project], TOOLS)
    assert len(rules.all()) == 1
    assert bool(note) is bool(IDLE[text]), note
    assert IDLE[text] in note
    if note:
        assert note.startswith("The rule “")
        assert "is saved, but never applies: " in note


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
    rules = SavedRules(tmp_path / "data" / "rules.json")
    rules.add("edit", [tmp_path], "allow")
    for place in (rules.file, rules.file.parent):
        assert place.stat().st_mode & 0o077 == 0


def test_what_cannot_take_a_files_place_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    cause = pytest.raises(SettingsError, match="could not be written")
    with cause, changing(tmp_path / "x", "words") as write:
        write(b"y")
    assert [one.name for one in tmp_path.iterdir()] == ["x"]


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
