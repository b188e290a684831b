"""Context that changed since the model read it: merged where the place is certain, else refused."""

from __future__ import annotations

import pytest

from agent_ls.domain.edits import apply_replacements
from agent_ls.edits.envelope import place_envelope
from agent_ls.edits.fuzzy_context import Fate, fate_of
from agent_ls.edits.requests import EditRequest, Refused
from agent_ls.edits.search_replace import place
from agent_ls.edits.unified import place_unified

_LOAD = (
    "def load(path):\n    text = path.read_text()\n    data = parse(text)\n    return data\n\n\n"
    "def save(path, data):\n    path.write_text(dump(data))\n"
)
_STEPS = "    open(left)\n    turn(handle)\n    pull(lever)\n    shut(left)\n"
_SIX = "open(door)\nturn(handle)\npull(lever)\npush(button)\nshut(door)\nlock(door)\n"
_TURN = " open(door)\n-turn(handle)\n+turn(knob)\n pull(lever)\n"
_SHUT = " push(button)\n-shut(door)\n+shut(gate)\n lock(door)\n"
_STEER = " steer(right)\n turn(it)\n-pull(lever)\n+pull(rope)\n wait(long)\n"
_FIRST = "first(it)\nsecond(it)\nthird(it)\n"
_LAST = "ninth(it)\ntenth(it)\nlast(it)\n"
_LIKE = "load(it)\nturn(it)\nhold(it)\nrest(long)\nkeep(it)\n"
_LOST = "load(it)\nturn(it)\nrest(while)\nkeep(it)\n"
_HUNKS = (
    " first(it)\n-second(it)\n+second(all)\n third(it)\n",
    " load(it)\n-turn(it)\n+turn(all)\n rest(short)\n keep(it)\n",
    " ninth(it)\n-tenth(it)\n+tenth(all)\n last(it)\n",
)


def check(text: str, hunks: str, expected: str | None) -> None:
    """Assert the text after an update without line numbers; None when it is refused."""
    patch = f"*** Begin Patch\n*** Update File: f\n@@\n{hunks}*** End Patch\n"
    placed = place_envelope(text, patch)
    if expected is None:
        assert isinstance(placed, Refused), apply_replacements(text, placed)
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == expected


@pytest.mark.parametrize(
    "text, hunks, expected",
    [
        pytest.param(_LOAD.replace("read_text()", 'read_text("utf-8")'),
                     "     text = path.read_text()\n-    data = parse(text)\n"
                     "+    data = parse(text, strict=True)\n     return data\n",
                     _LOAD.replace("read_text()", 'read_text("utf-8")')
                     .replace("parse(text)", "parse(text, strict=True)"), id="grown"),
        pytest.param(_LOAD.replace("return data", "return data  # parsed"),
                     "     data = parse(text)\n+    check(data)\n     return data\n \n \n"
                     " def save(path, data):\n",
                     _LOAD.replace("    return data", "    check(data)\n    return data  # parsed"),
                     id="grown-beside-an-addition"),
        pytest.param(_LOAD.replace("save(path, data)", "save(path, data, mode)"),
                     " def save(path, data):\n-    path.write_text(dump(data))\n"
                     "+    path.write_bytes(dump(data))\n",
                     None, id="too-little-beside-what-grew"),
        pytest.param(_LOAD.replace("save(path, data)", "save(path, data, mode)"),
                     "     return data\n \n \n def save(path, data):\n"
                     "-    path.write_text(dump(data))\n+    path.write_bytes(dump(data))\n",
                     _LOAD.replace("save(path, data)", "save(path, data, mode)")
                     .replace("write_text", "write_bytes"), id="a-header-with-one-more-parameter"),
        pytest.param(_SIX.replace("pull(lever)", "pull(rope)"),
                     _TURN + " push(button)\n",
                     _SIX.replace("pull(lever)", "pull(rope)").replace("handle", "knob"),
                     id="a-word-of-it-changed"),
        pytest.param(_SIX.replace("push(button)\n", ""), _TURN + " push(button)\n shut(door)\n",
                     _SIX.replace("push(button)\n", "").replace("handle", "knob"),
                     id="a-line-of-it-is-gone"),
        pytest.param(_SIX.replace("push", "wait(5)\npush"), _TURN + " push(button)\n shut(door)\n",
                     _SIX.replace("push", "wait(5)\npush").replace("handle", "knob"),
                     id="a-line-came-into-it"),
        pytest.param("if ready {\n" + _SIX + "  wait(5)\n}\n",
                     " open(door)\n-turn(handle)\n+turn(knob)\n pull(lever)\n push(button)\n"
                     " shut(door)\n lock(door)\n }\n",
                     "if ready {\n" + _SIX.replace("handle", "knob") + "  wait(5)\n}\n",
                     id="a-brace-is-further-down"),
        pytest.param("if ready {\n" + _SIX + "  wait(5)\n}\n",
                     " shut(door)\n-lock(door)\n+lock(gate)\n }\n",
                     "if ready {\n" + _SIX.replace("lock(door)", "lock(gate)")
                     + "  wait(5)\n}\n", id="a-line-came-before-the-brace-that-ends-the-file"),
        pytest.param("if ready {\n" + _SIX + "  wait(5)\n}\nshut(door)\n",
                     " shut(door)\n-lock(door)\n+lock(gate)\n }\n", None,
                     id="too-little-before-a-brace-that-is-further-down"),
        pytest.param(_SIX.replace("pull(lever)", "pull(rope)"), _TURN, None,
                     id="too-little-beside-what-changed"),
        pytest.param(_SIX.replace("pull(lever)", "wait(5)"), _TURN, None,
                     id="another-line-in-its-place"),
        pytest.param(_SIX.replace("pull(lever)", "wait(5)"), _TURN + " push(button)\n",
                     _SIX.replace("pull(lever)", "wait(5)").replace("handle", "knob"),
                     id="another-line-between-two-that-stand-nowhere-else"),
        pytest.param(_SIX.replace("pull(lever)", "wait.long(5)"), _TURN + " push(button)\n", None,
                     id="another-line-of-another-shape-between-two-that-stand-nowhere-else"),
        pytest.param(_SIX.replace("pull(lever)", "pull(lever, 2)"),
                     " open(door)\n-turn(handle)\n+turn(knob)\n pull(lever, 1)\n push(button)\n",
                     None, id="a-number-in-it-is-another"),
        pytest.param("lever = one\n" + _SIX,
                     " crank = one\n open(door)\n-turn(handle)\n+turn(knob)\n pull(lever)\n"
                     " push(button)\n", "lever = one\n" + _SIX.replace("handle", "knob"),
                     id="it-sets-another-name-beside-much-that-stands-nowhere-else"),
        pytest.param(_SIX + "\n[lever]\n",
                     " turn(handle)\n pull(lever)\n push(button)\n-shut(door)\n+shut(gate)\n"
                     " lock(door)\n \n [crank]\n",
                     _SIX.replace("shut(door)", "shut(gate)") + "\n[lever]\n",
                     id="another-block-begins-beyond-what-changes"),
        pytest.param(_SIX + "[lever]\n",
                     " turn(handle)\n pull(lever)\n push(button)\n-shut(door)\n+shut(gate)\n"
                     " lock(door)\n [crank]\n", None,
                     id="another-block-begins-right-behind-what-changes"),
        pytest.param("run(it)\nif ready {\n  open(door)\n  wait(5)\n}\nshut(door)\nlock(door)\n",
                     " run(it)\n if ready {\n   open(door)\n }\n-shut(door)\n+shut(gate)\n"
                     " lock(door)\n",
                     "run(it)\nif ready {\n  open(door)\n  wait(5)\n}\nshut(gate)\nlock(door)\n",
                     id="a-brace-behind-a-new-line-is-the-same-brace"),
        pytest.param("wake()\nopen(door)\nturn(handle)\n",
                     "   wake()\n   open(door)\n }\n-  turn(handle)\n+  turn(knob)\n", None,
                     id="in-another-indentation-and-a-brace-is-gone"),
        pytest.param(_SIX.replace("pull(lever)", "pull(rope)") + "\nopen(door)\npush(button)\n",
                     _TURN + " push(button)\n", None,
                     id="a-word-of-it-changed-and-no-line-stands-alone"),
        pytest.param("wake()\n" + _SIX.replace("wake()\n", "").replace("open(door)\n", ""),
                     " wake()\n open(door)\n-turn(handle)\n+turn(knob)\n pull(lever)\n",
                     "wake()\n" + _SIX.replace("open(door)\n", "").replace("handle", "knob"),
                     id="the-line-above-it-is-gone"),
        pytest.param("def a() {\n  wait(5)\n}\n\ndef b() {\n  start(engine)\n  go(now)\n}\n",
                     "   start(engine)\n   go(now)\n   steer(left)\n }\n+\n+stop()\n",
                     "def a() {\n  wait(5)\n}\n\ndef b() {\n  start(engine)\n  go(now)\n}\n"
                     "\nstop()\n",
                     id="the-brace-behind-a-line-that-is-gone-is-the-next-one"),
        pytest.param(_SIX.replace("turn(handle)", "turn(wheel)"), _TURN + " push(button)\n", None,
                     id="a-removed-line-changed"),
        pytest.param(_SIX, " open(door)\n turn(handle)\n-turn(handle)\n pull(lever)\n"
                     " push(button)\n shut(door)\n", None,
                     id="one-of-two-equal-lines-is-removed-already"),
        pytest.param("- name: a\n  on: yes\n- name: b\n- name: c\n  on: yes\n- name: d\n",
                     "-  on: yes\n - name: c\n   on: yes\n - name: d\n", None,
                     id="a-removal-that-was-done-with-its-like-above"),
        pytest.param("def left():\n" + _STEPS,
                     " def right():\n     open(left)\n-    turn(handle)\n+    turn(knob)\n"
                     "     pull(lever)\n     shut(left)\n", None, id="a-block-of-another-name"),
        pytest.param(_SIX.replace("turn(handle)", "turn(wheel)") + "\n"
                     + _SIX.replace("pull(lever)", "pull(lever, slowly)"),
                     _TURN + " push(button)\n", None, id="the-place-changed-and-a-twin-stands-by"),
        pytest.param("start()\n" + _SIX.replace("open(door)", "open(gate)").replace("lever", "rope")
                     + "\n" + _SIX.replace("pull(lever)", "pull(lever, slowly)"),
                     _TURN + " push(button)\n",
                     "start()\n" + _SIX.replace("open(door)", "open(gate)")
                     .replace("lever", "rope") + "\n"
                     + _SIX.replace("pull(lever)", "pull(lever, slowly)").replace("handle", "knob"),
                     id="the-other-place-is-far-behind"),
        pytest.param("start(engine)\nfn go() {\n" + _SIX + "}\n",
                     " start(engine)\n fn run() {\n" + _TURN, None,
                     id="a-block-of-another-name-between-lines-that-stand-nowhere-else"),
        pytest.param("s.path = 'https'\ns.go = open(it)\ns.end = shut(it)\nreturn it\nwait(5)\n",
                     " s.path = 'http'\n-s.go = open(it)\n-s.end = shut(it)\n+s.go = open(all)\n"
                     " return it\n", None, id="a-first-line-that-differs-and-one-that-is-there"),
        pytest.param("steer(left)\nturn(it)\npull(lever)\nwait(long)\nturn(it)\npull(lever)\n",
                     _STEER, None,
                     id="a-first-line-that-differs-and-what-goes-stands-elsewhere-too"),
        pytest.param("// form =\n//   /abcd/\n// form =\nform =\n  /[a-z]+/;\n// form =\n",
                     " // form =\n //   /efgh/\n form =\n-  /[a-z]+/;\n+  /[a-z0-9]+/;\n"
                     " // form =\n",
                     "// form =\n//   /abcd/\n// form =\nform =\n  /[a-z0-9]+/;\n// form =\n",
                     id="a-gone-line-beside-one-that-is-there-twice"),
        pytest.param("if a {\n  if b {\n    go(on)\n  }\n}\nnoted()\n// opens it\n" + _SIX,
                     "   }\n }\n // opens it\n-open(door)\n+open(gate)\n turn(handle)\n",
                     "if a {\n  if b {\n    go(on)\n  }\n}\nnoted()\n// opens it\n"
                     + _SIX.replace("open(door)", "open(gate)"),
                     id="a-line-came-behind-braces"),
        pytest.param("go {\n  run {\n    open(left)\n    turn(it)\n    pull(it)\n    wait(it)\n"
                     "    shut(it)\n  }\n}\n",
                     "   open(right)\n   turn(it)\n   pull(it)\n-  wait(it)\n+  wait(all)\n"
                     "   shut(it)\n", None, id="a-line-that-differs-and-another-indentation"),
        pytest.param(_SIX + "is_on: true\n", _SHUT + " is_on: false\n", None,
                     id="another-flag"),
        pytest.param(_SIX + "is_on: right\n", _SHUT + " is_on: left\n",
                     _SIX.replace("shut(door)", "shut(gate)") + "is_on: right\n",
                     id="another-word"),
        pytest.param(_SIX + "door &= ~OPEN;\nwait(it)\n",
                     " shut(door)\n lock(door)\n door |= OPEN;\n+hold(it)\n wait(it)\n", None,
                     id="another-sign"),
        pytest.param("Names are kept\ncase-insensitive words\n\nMore of it\n",
                     " Names are kept\n case-insensitive text\n \n+They are.\n+\n More of it\n",
                     "Names are kept\ncase-insensitive words\n\nThey are.\n\nMore of it\n",
                     id="prose-that-begins-like-a-case"),
    ],
)  # fmt: skip
def test_changed_context_stays_where_the_place_is_certain(
    text: str, hunks: str, expected: str | None
) -> None:
    check(text, hunks, expected)


@pytest.mark.parametrize(
    "text, hunks, expected",
    [
        pytest.param(_LIKE + _FIRST + _LOST + _LAST, _HUNKS,
                     _LIKE + (_FIRST + _LOST + _LAST).replace("second(it)", "second(all)")
                     .replace("turn(it)", "turn(all)").replace("tenth(it)", "tenth(all)"),
                     id="between-them"),
        pytest.param(_LIKE + _FIRST + _LOST + _LAST, _HUNKS[1:2], None, id="by-itself"),
        pytest.param(_FIRST + _LIKE + _LOST + _LAST, _HUNKS, None, id="its-like-is-there-too"),
        pytest.param(_LIKE + _FIRST + _LOST + _LAST, _HUNKS[::-1], None, id="in-another-order"),
        pytest.param(_LIKE + _FIRST + _LAST + _LOST, _HUNKS, None, id="behind-them"),
    ],
)  # fmt: skip
def test_hunks_that_are_found_say_where_one_goes_that_is_not(
    text: str, hunks: tuple[str, ...], expected: str | None
) -> None:
    check(text, "@@\n".join(hunks), expected)


@pytest.mark.parametrize(
    "line, there, fate",
    [
        ("size = 4", ["size = 4  # bytes"], "grown"),
        ("load(path)", ["load(path, mode)"], "grown"),
        ("load(path, mode)", ["load(path)"], "reworded"),
        ("size = width * 4", ["size = height * 4"], "reworded"),
        ("size = width * 4", ["size = width * 8"], "another"),
        ("load(a, path)", ["load(b, path)"], "another"),
        ("load(path, true)", ["load(path, false)"], "another"),
        ("flags |= OPEN", ["flags &= ~OPEN"], "another"),
        ("load(path,mode)", ["load( path, mode )"], "rewritten"),
        ("size = 4", ["size = 8"], "another"),
        ('"version": "1.2.3",', ['"version": "1.3.0",'], "another"),
        ("leave();", ["enter();"], "rewritten"),
        ("send(text, to=first, at=now)", ["send(texts, to=first, at=later)"], "rewritten"),
        ("size = 4", ["print(everything)"], "another"),
        ("load(path)", [], "gone"),
        ("def load(path):", ["def load(path, mode):"], "grown"),
        ("def load(path):", ["def load_all(path):"], "another"),
        ("def load(path):", [], "another"),
        ("class A:", ["class AB:"], "another"),
        ("[dependencies]", ["[build-dependencies]"], "another"),
        ("if ready {", ["if steady {"], "another"),
        ("});", ["});  // end"], "another"),
        ("def load():", ["def load(path):"], "grown"),
        ("send(old)", ["send(older)"], "reworded"),
        ("  WHERE id = 5", ["  WHERE id = 7"], "another"),
        ("- id: 5", ["- id: 7"], "another"),
        ("class A:", ["class A_B:"], "another"),
    ],
)
def test_a_line_is_the_same_one_only_when_it_says_so(
    line: str, there: list[str], fate: Fate
) -> None:
    assert fate_of(line, *(there or [None])) == fate


@pytest.mark.parametrize(
    "line, now, below",
    [
        ("int load(x)", "int save(x)", "{"),
        ("foo.bar = function(a)", "foo.baz = function(a)", "  one(a)"),
        ('<a id="12">', '<a id="17">', "  <host>a</host>"),
        ("- host: a", "- host: b", "  port: 1"),
        ("## On Windows", "## On Linux", ""),
        ("On Windows", "On Linux", "----------"),
    ],
)
def test_a_line_that_heads_a_block_tells_which_one_it_is(line: str, now: str, below: str) -> None:
    assert fate_of(line, now, [below]) == "another"


@pytest.mark.parametrize(
    "text, hunks",
    [
        pytest.param("class A\n{\n  void Save(Item item)\n  {\n    Check(item);\n    Log(item);\n"
                     "    db.Run(item);\n  }\n}\n",
                     "   void Load(Item item)\n   {\n     Check(item);\n     Log(item);\n"
                     "-    db.Run(item);\n+    db.Run(item, 1);\n   }\n", id="another-method"),
        pytest.param("STAGING_HOST=a\nPORT=1\nUSER=u\nMODE=x\n",
                     " PROD_HOST=a\n-PORT=1\n+PORT=2\n USER=u\n MODE=x\n", id="another-setting"),
        pytest.param("name: prod\nhost: a\nport: 1\nuser: u\n",
                     " name: dev\n host: a\n-port: 1\n+port: 2\n user: u\n", id="another-record"),
        pytest.param("say('you')\nmore()\nwait()\nrun(it)\n\nsay('now')\nmore()\nstart()\n",
                     " say('you')\n more()\n-start()\n+stop()\n", id="beyond-lines-that-came"),
    ],
)  # fmt: skip
def test_a_line_that_tells_the_place_from_its_likes_may_not_differ(text: str, hunks: str) -> None:
    check(text, hunks, None)


@pytest.mark.parametrize(
    "text, old, is_placed",
    [
        pytest.param("rest(now, later)\n" + _SIX,
                     "sleep(now, later)\nopen(door)\nturn(handle)\npull(lever)\npush(button)",
                     True, id="the-first-line-was-changed-above-much"),
        pytest.param("rest(now)\n" + _SIX,
                     "sleep(now)\nopen(door)\nturn(handle)\npull(lever)\npush(button)",
                     False, id="the-first-line-is-short-and-was-changed"),
        pytest.param("rest(now)\n" + _SIX, "sleep(now)\nturn(handle)\npull(lever)",
                     False, id="the-first-line-was-changed-above-little"),
        pytest.param("rest = now()\n" + _SIX,
                     "sleep = now()\nopen(door)\nturn(handle)\npull(lever)",
                     False, id="the-first-line-sets-another-name"),
        pytest.param("wake(now)\n" + _SIX.replace("pull(lever)", "\npull(rope)") + "pull(crank)\n",
                     "wake(now)\nopen(door)\nturn(handle)\n\npull(lever)", False,
                     id="the-last-line-was-changed-and-has-likes"),
        pytest.param("wake(now)\n" + _SIX.replace("pull(lever)", "\npull(rope, slowly)"),
                     "wake(now)\nopen(door)\nturn(handle)\n\npull(lever, slowly)", True,
                     id="the-last-line-was-changed-and-has-none"),
        pytest.param(_SIX.replace("push", "wait(5)\npush"),
                     "open(door)\nturn(handle)\npull(lever)\npush(button)", True,
                     id="a-line-came-into-one-of-four-of-which-two-stand-alone"),
    ],
)  # fmt: skip
def test_a_quote_may_be_told_from_its_copies_by_any_of_its_ends(
    text: str, old: str, is_placed: bool
) -> None:
    placed = place(text, [EditRequest(old, old.replace("handle", "knob"))])
    if not is_placed:
        assert isinstance(placed, Refused), apply_replacements(text, placed)
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == text.replace("handle", "knob")


@pytest.mark.parametrize(
    "line, is_placed",
    [
        pytest.param(2, True, id="that-says-the-same"),
        pytest.param(3, False, id="that-is-off-by-one"),
        pytest.param(None, False, id="none"),
    ],
)
def test_a_short_end_that_differs_needs_a_line_number(line: int | None, is_placed: bool) -> None:
    text = "import it\nrest(now)\n" + _SIX
    old = "sleep(now)\nopen(door)\nturn(handle)\npull(lever)\npush(button)"
    placed = place(text, [EditRequest(old, old.replace("handle", "knob"), line)])
    if not is_placed:
        assert isinstance(placed, Refused), apply_replacements(text, placed)
        assert "too few of the other lines" in placed.reason
        return
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == text.replace("handle", "knob")


@pytest.mark.parametrize(
    "text, hunks, words",
    [
        (_SIX.replace("pull(lever)", "pull(rope)"), _TURN, "too few of the other lines"),
        (
            _SIX.replace("push(button)", "push(it)"),
            " turn(handle)\n-turn(handle)\n pull(lever)\n push(button)\n shut(door)\n",
            "Of two equal lines",
        ),
        (
            _SIX.replace("pull(lever)", "pull(lever, hard)")
            + _SIX.replace("pull(lever)", "pull(lever, slowly)"),
            _TURN + " push(button)\n",
            "fits line 1 and line 7 equally well",
        ),
    ],
)
def test_a_refusal_says_what_is_not_certain(text: str, hunks: str, words: str) -> None:
    placed = place_unified(text, f"--- a/f\n+++ b/f\n@@ ... @@\n{hunks}")
    assert isinstance(placed, Refused)
    assert words in placed.reason


def test_a_line_number_that_is_right_does_not_make_one_setting_of_another() -> None:
    diff = "@@ -1,3 +1,3 @@\n HOST=a\n-PORT=1\n+PORT=2\n USER=u\n"
    text = "STAGING_HOST=a\nPORT=1\nUSER=u\n"
    assert isinstance(place_unified(text, "--- a/f\n+++ b/f\n" + diff), Refused)


def test_a_line_number_that_is_right_does_not_make_one_function_of_another() -> None:
    text = "import os\n\n\ndef get_b(self):\n    check(self)\n    x = self.load()\n    return x\n"
    diff = (
        "@@ -4,4 +4,5 @@\n def get_a(self):\n     check(self)\n     x = self.load()\n"
        "+    log(x)\n     return x\n"
    )
    assert isinstance(place_unified(text, "--- a/f\n+++ b/f\n" + diff), Refused)


def test_other_characters_are_no_worse_than_a_line_that_is_missing() -> None:
    text = "say(\u201ca\u201d)\nopen(door)\nturn(it)\nwait()\nopen(door)\nturn(it)\n"
    old = 'say("a")\nopen(door)\nturn(it)'
    placed = place(text, [EditRequest(old, old.replace("it", "all"))])
    assert not isinstance(placed, Refused), placed.reason
    assert apply_replacements(text, placed) == text.replace("it", "all", 1)
