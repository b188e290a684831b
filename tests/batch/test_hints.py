"""What a batch's last line tells to run next."""

from __future__ import annotations

import argparse

import pytest

from agent_ls.cli.batch import _WHERE, _given  # pyright: ignore[reportPrivateUsage]
from agent_ls.cli.main import main


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, ""),
        ({"jobs": 4}, " --jobs 4"),
        (
            {"scheduler": "tls://a:8786", "tls_ca": "my tls/ca.pem"},
            " --scheduler tls://a:8786 --tls-ca 'my tls/ca.pem'",
        ),
        ({"store": "/srv/store.db"}, " --store /srv/store.db"),
        ({"store": "postgresql://me@db/a"}, " --store postgresql://me@db/a"),
        (
            {"store": "postgresql://me:secret@db:5/a?sslmode=require"},
            " --store postgresql://me:PASSWORD@db:5/a",
        ),
        (
            {"store": "postgresql://db/a?user=me&password=secret"},
            " --store postgresql://USER:PASSWORD@db/a",
        ),
    ],
)
def test_the_options_that_were_given_are_shown_without_passwords(
    given: dict[str, object], shown: str
) -> None:
    words = argparse.Namespace(**{**dict.fromkeys(_WHERE), **given})
    assert _given(words, _WHERE) == shown


@pytest.mark.parametrize(
    "words",
    [
        ("stop", "abcd", "--json"),
        ("report", "abcd", "--json"),
        ("patches", "abcd", "--json"),
        ("resume", "abcd", "--set", "mode=ask"),
    ],
)
def test_options_that_would_do_nothing_are_none(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["batch", *words])
    assert "unrecognized arguments" in capsys.readouterr().err


def test_csv_is_of_one_batch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["batch", "status", "--csv"]) == 64
    assert "give its id" in capsys.readouterr().err
