"""The review is tested over sessions as they are."""

from __future__ import annotations

from tests.session.conftest import model_host, model_port, opened

__all__ = ["model_host", "model_port", "opened"]
