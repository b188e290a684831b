"""Secrets by their shape: masked in output, ordinary code left alone. All are made up."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_ls.safety.excerpts import numbered
from agent_ls.safety.secrets import can_part, ends_in_key, mask, mask_lines, mask_part, mask_slowly

_ALNUM = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kM9n"
_HEX = "0123456789abcdef0123456789abcdef"


def check(text: str, secret: str) -> None:
    """Assert that the secret is gone, the rest stays, and masking again changes nothing."""
    assert secret in text
    masked = mask(text)
    assert secret not in masked
    assert "[masked " in masked
    before, after = text.split(secret, 1)
    assert masked.startswith(before[: max(len(before) - 80, 0)])
    assert masked.endswith(after)
    assert mask(masked) == masked


# Put together at run time, so that no scanner takes this file for a leak.
_CASES = {
    "aws": "AKIA" + "ABCDEFGHIJKLMNOP",
    "github": "ghp_" + _ALNUM[:36],
    "github-fine": "github_pat_" + _ALNUM,
    "gitlab": "glpat-" + _ALNUM[:20],
    "slack": "xoxb-" + "123456789012-" + _ALNUM[:24],
    "slack-hook": "hooks.slack.com/services/" + "T0000/B0000/" + _ALNUM[:24],
    "anthropic": "sk-ant-" + "api03-" + _ALNUM,
    "openai": "sk-" + "proj-" + _ALNUM,
    "openrouter": "sk-or-v1-" + _HEX * 2,
    "google": "AIza" + _ALNUM[:35],
    "stripe": "sk_" + "live_" + _ALNUM[:24],
    "sendgrid": "SG." + _ALNUM[:22] + "." + _ALNUM,
    "npm": "npm_" + _ALNUM[:36],
    "pypi": "pypi-" + _ALNUM + _ALNUM,
    "hugging-face": "hf_" + _ALNUM[:34],
    "groq": "gsk_" + _ALNUM,
    "telegram": "123456789:AA" + _ALNUM[:33],
    "discord": "M" + _ALNUM[:23] + "." + _ALNUM[:6] + "." + _ALNUM[:27],
    "digital-ocean": "dop_v1_" + _HEX * 2,
    "vault": "hvs." + _ALNUM,
    "linear": "lin_api_" + _ALNUM,
    "shop": "shpat_" + _HEX,
    "twilio": "SK" + _HEX,
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L" * 2,
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0." + _ALNUM,
}


@pytest.mark.parametrize("name", _CASES)
@pytest.mark.parametrize("frame", ["{}", "x = '{}'\n", "prefix {} suffix", '{{"k":"{}"}}'])
def test_tokens_are_masked_wherever_they_stand(name: str, frame: str) -> None:
    check(frame.format(_CASES[name]), _CASES[name])


@pytest.mark.parametrize(
    "text, secret",
    [
        ("postgres://app:hunter2@db/x", "hunter2"),
        ("git remote https://x-access-token:abc123@host/r.git", "abc123"),
        ("Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
        ('{"authorization": "Basic dXNlcjpwYXNz"}', "dXNlcjpwYXNz"),
        ("curl -H 'X-Api-Key: 12345678abc'", "12345678abc"),
        ("AccountKey=" + _ALNUM + "==;Endpoint=x", _ALNUM + "=="),
        ("DB_PASSWORD=hunter2\n", "hunter2"),
        ("export MY_API_KEY='plainword'\n", "plainword"),
        ("  API_TOKEN_FOR_X=four", "four"),
        ("@@ -0,0 +1 @@\n+DB_PASSWORD=hunter2\n", "hunter2"),
        ("- DB_PASSWORD=hunter2\n", "hunter2"),
        ("+        DB_PASSWORD=hunter2\n", "hunter2"),
        ('api_key: "9f8e7d6c5b4a3f2e1d0c"', "9f8e7d6c5b4a3f2e1d0c"),
        ("client_secret => 'q1w2e3r4t5y6u7i8'", "q1w2e3r4t5y6u7i8"),
        ("SSH_PASSPHRASE=hunter2", "hunter2"),
        ("ACCESS_KEY=hunter2", "hunter2"),
        ("PRIVATE_KEY=hunter2", "hunter2"),
        ("CREDENTIALS=hunter2", "hunter2"),
        # Patterns that ignore case take these letters for an i.
        ('AP\u0130_KEY: "9f8e7d6c5b4a3f2e1d0c"', "9f8e7d6c5b4a3f2e1d0c"),
        ('ap\u0131_key: "9f8e7d6c5b4a3f2e1d0c"', "9f8e7d6c5b4a3f2e1d0c"),
        ('"refreshToken":"q1w2e3r4t5y6u7i8o9"', "q1w2e3r4t5y6u7i8o9"),
    ],
)
def test_secrets_in_their_places_are_masked(text: str, secret: str) -> None:
    check(text, secret)


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token(request)",
        "password: string;",
        "def check_password(password: str) -> bool:",
        "MAX_TOKENS=100000",
        "token_id = 20240131120000",
        "TOKEN=$1",
        "SECRET_KEY=${SECRET_KEY}",
        "secret = os.environ['SECRET']",
        "tokenizer = AutoTokenizer.from_pretrained(name)",
        "token_type = identifier_or_keyword",
        "api_key=YOUR_API_KEY_HERE",
        "see https://example.com:8080/path@2x.png",
        "commit 9f8e7d6c5b4a3f2e1d0c9f8e7d6c5b4a3f2e1d0c",
        "sha256:" + _HEX * 2,
        "class sk-button-with-a-long-descriptive-name",
        "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----",
    ],
)
def test_ordinary_code_is_left_alone(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    "text, masked",
    [
        (_CASES["aws"], "[masked aws key id]"),
        (_CASES["anthropic"], "[masked anthropic key]"),
        (_CASES["npm"], "[masked npm token]"),
        (_CASES["jwt"], "[masked json web token]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[masked secret]"),
        ("DB_PASSWORD=[masked npm token]", "DB_PASSWORD=[masked npm token]"),
    ],
)
def test_the_mask_says_what_was_there(text: str, masked: str) -> None:
    assert mask(text) == masked


_BEGIN, _END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "text, is_in_key, masked, ends_inside",
    [
        ("words", False, "words", False),
        ("MIIE\nab=\n", True, "", True),
        (f"MIIE\nab=\n{_END}\nwords", True, f"{_END}\nwords", False),
        (f"MIIE\n{_END}\n{_BEGIN}\nMI", True, f"{_END}\n{_BEGIN}[masked private key]", True),
        (
            f"{_BEGIN}\nMI\n{_BEGIN}\n{_END}\n",
            False,
            f"{_BEGIN}[masked private key]{_END}\n",
            False,
        ),
        (f"words\n{_END}\n{_END}", False, f"words\n{_END}\n{_END}", False),
    ],
)
def test_a_part_of_a_key_is_masked_as_it_goes_on(
    text: str, is_in_key: bool, masked: str, ends_inside: bool
) -> None:
    assert mask_part(text, is_in_key=is_in_key) == (masked, ends_inside)
    assert ends_in_key(text, is_in_key=is_in_key) is ends_inside


def test_a_private_key_loses_its_body_only() -> None:
    text = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nb"
    check(text, "\nMIIE\nabcd\n")


def test_a_private_key_that_is_cut_off_is_masked_to_the_end() -> None:
    assert mask("-----BEGIN PRIVATE KEY-----\nMIIE").endswith("[masked private key]")


@pytest.mark.parametrize(
    "text",
    [
        "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n-----END RSA PRIVATE KEY-----\nb\nc",
        "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nabcd",
        f"a\n{'x' * 40}\n{'y' * 40}\n-----END PRIVATE KEY-----\nb",
        "a\nb",
    ],
)
def test_lines_behind_a_private_key_keep_their_places(text: str) -> None:
    masked = mask_lines(text)
    assert masked.replace("\n", "") == mask(text).replace("\n", "")
    assert len(masked.split("\n")) == len(text.split("\n"))
    shown = numbered(text.split("\n"), 0, 9)
    assert shown[-1].split()[0] == str(len(text.split("\n")))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----",
        "a-",
        "token",
        "password_",
        "eyJ",
        "://",
        "A=",
        "sk-",
        "[masked ",
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    assert mask(piece * 30_000) is not None


@given(st.text(alphabet="abAB12=:'\"/@- \nTOKENsecretkey[masd]", max_size=120))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert mask(mask(text)) == mask(text)


@pytest.mark.parametrize("name", _CASES)
def test_a_long_text_is_masked_in_parts_as_it_is_as_a_whole(name: str) -> None:
    lines = f"a line of some words\nthe key {_CASES[name]} is here\n" * 600
    assert asyncio.run(mask_slowly(lines)) == mask(lines)


def test_a_secret_of_several_lines_is_parted_by_no_part() -> None:
    body = "".join(f"{number:064x}\n" for number in range(40))
    key = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
    header = "Authorization: Bearer\n  abcdefgh12345678\n"
    for blanks in range(0, 12_000, 611):
        text = "x\n" * (blanks // 2) + key + "y\n" * 4_000 + header + "x\n" * 20_000
        assert asyncio.run(mask_slowly(text)) == mask(text)


@pytest.mark.parametrize(
    "line, is_fine",
    [
        ("words of a log\n", True),
        ("Authorization: Bearer\n", False),
        ("x-api-key:\r\n", False),
        ("A" * 16 + "\n", False),
        ("A" * 16 + "\nab=\n", False),
    ],
)
def test_a_text_is_not_parted_where_a_secret_may_go_on(line: str, is_fine: bool) -> None:
    for text in (line, "some words\n" * 30 + line):
        assert can_part(text + "more", len(text)) is is_fine


def test_no_part_of_a_long_text_ends_in_a_header() -> None:
    part = "x\n" * 4_096 + "Authorization: Bearer\n  abcdefgh12345678\n"
    text = part * 10 + "Authorization: Bearer\n"
    assert asyncio.run(mask_slowly(text)) == mask(text)
    assert "abcdefgh" not in mask(text)


async def test_masking_lets_everything_else_have_its_turn() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    await mask_slowly("some words of a log that nobody reads\n" * 50_000)
    counting.cancel()
    assert turns > 200


@pytest.mark.parametrize("above", ["", "the log\n", "a = 1\n\n", "HeadOfThePageOfTheLog\nwords\n"])
def test_the_end_of_a_private_key_is_masked_without_its_beginning(above: str) -> None:
    body = "MIIEabcd+/xMIIEabcd=\n" * 3 + "ab=\n"
    text = f"{above}{body}-----END EC PRIVATE KEY-----\nb"
    assert mask(text) == f"{above}[masked private key]\n-----END EC PRIVATE KEY-----\nb"
    assert mask(mask(text)) == mask(text)
