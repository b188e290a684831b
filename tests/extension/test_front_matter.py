"""Front matter as public files have it, which is often no strict YAML."""

from __future__ import annotations

import pytest

from agent_ls.extension.front_matter import is_on, rules_in, split_front, tools_in, words_in


@pytest.mark.parametrize(
    "text, front",
    [
        ("a: b: c\nd: http://x.y/z", {"a": "b: c", "d": "http://x.y/z"}),
        ("description: Use when: (1) a, (2) b\n", {"description": "Use when: (1) a, (2) b"}),
        ("description: one\ntwo: three four\nUse it when: five", {
            "description": "one", "two": "three four Use it when: five"
        }),
        ("description: one\nhttp://x.y goes on", {"description": "one http://x.y goes on"}),
        ('description: "a \\"b\\" c\\n<example>"', {"description": 'a "b" c <example>'}),
        ("description: 'it''s'", {"description": "it's"}),
        ('description: "one\n  two"\nname: x', {"description": "one two", "name": "x"}),
        ("description: >-\n  one\n\n  two\nname: x", {"description": "one two", "name": "x"}),
        ("description: |2\n  - a\n  # b\n  - c", {"description": "- a # b - c"}),
        ("allowed-tools:\n- Read\n- 'Bash(git:*)'", {"allowed-tools": "Read, Bash(git:*)"}),
        ("allowed-tools:\n  - Read # why\n  - Grep", {"allowed-tools": "Read, Grep"}),
        ("  name: x\n  description: y", {"name": "x", "description": "y"}),
        ('"name": x', {"name": "x"}),
        ("metadata:\n  author: me\n  version: 1\nname: x", {
            "metadata": "author: me version: 1", "name": "x"
        }),
        ("# only a comment\n\nname: x", {"name": "x"}),
        ("no colon at all", {}),
        ("name:\tx\t", {"name": "x"}),
        ("name:", {"name": ""}),
    ],
)  # fmt: skip
def test_what_yaml_refuses_is_read(text: str, front: dict[str, str]) -> None:
    for ends in ("\n", "\r\n"):
        whole = f"\ufeff---\n{text}\n--- \nBody: $1\n\nmore\n".replace("\n", ends)
        assert split_front(whole, is_lenient=True) == (front, "Body: $1\n\nmore")


@pytest.mark.parametrize(
    "text, body",
    [
        ("No front matter.\n---\n", "No front matter.\n---"),
        ("\n---\nname: x\n---\nB", "---\nname: x\n---\nB"),
        ("---\nname: x\nIt never ends.", "---\nname: x\nIt never ends."),
        ("---\n---\nB", "B"),
        ("", ""),
    ],
)
def test_what_has_no_front_matter_is_all_body(text: str, body: str) -> None:
    assert split_front(text, is_lenient=True) == ({}, body)


def test_our_own_files_say_what_is_wrong() -> None:
    for text, why in (("---\nname: x", "has no end"), ("---\nname x\n---\n", "is no “key: value”")):
        with pytest.raises(ValueError, match=why):
            split_front(text, is_lenient=False)


@pytest.mark.parametrize(
    "value, tools, rules",
    [
        ("Read, Grep Glob", ("read_file", "grep", "glob"), ()),
        ("Bash(git add:*)", ("run_command",), ("run_command: git add *",)),
        ("Bash(git add *) Bash(git status)", ("run_command",), (
            "run_command: git add *", "run_command: git status"
        )),
        ('["Bash(npm run test:*)", "Read"]', ("run_command", "read_file"), (
            "run_command: npm run test *",
        )),
        ('Bash(git commit -m "a (b)":*)', ("run_command",), (
            'run_command: git commit -m "a (b)" *',
        )),
        ("Bash(*), Bash(git:*)", ("run_command",), ()),
        ("Bash(:*)", ("run_command",), ()),
        ("Write(docs/**), Edit(docs/**)", ("write_file", "edit_file"), ("edit: docs/**",)),
        ("Read(src/**), WebFetch(domain:x.y), Task(review)", (
            "read_file", "web_fetch", "delegate"
        ), ()),
        ("mcp__linear, mcp__github__get_issue", ("linear/*", "github/get_issue"), ()),
        ("Bash(), LS, TodoWrite", ("run_command", "list_dir", "update_plan"), ()),
        ('Bash(git add:*), Bash(node -e "f(g(1))")', ("run_command",), (
            "run_command: git add *", 'run_command: node -e "f(g(1))"'
        )),
        ("Bash(git add:*) Bash(gh pr view :*", ("run_command",), (
            "run_command: git add *", "run_command: (unreadable)"
        )),
        ("Bash(gh issue list #*)", ("run_command",), ("run_command: gh issue list #*",)),
        ("Bash(!x), Read # all", ("run_command", "read_file"), ("run_command: (unreadable)",)),
        ("Read, tool(linear/*)", ("read_file", "linear/*"), ("tool: linear/*",)),
        ("", (), ()),
    ],
)  # fmt: skip
def test_a_list_of_tools_is_ours_and_no_wider(
    value: str, tools: tuple[str, ...], rules: tuple[str, ...]
) -> None:
    assert tools_in(value, is_foreign=True) == tools
    assert rules_in(value) == rules


def test_switches_and_words() -> None:
    assert all(is_on(one, default=False) for one in ("true", "YES", "'on'", "1 # so"))
    assert not any(is_on(one, default=True) for one in ("false", "No", "off", "0"))
    assert is_on("", default=True)
    assert not is_on("perhaps", default=False)
    assert words_in("[issue, branch]") == words_in("issue branch") == ("issue", "branch")
