"""Sessions are tested with the same shared model host as the told turns."""

from __future__ import annotations

from tests.loop.conftest import model_host, model_port

__all__ = ["model_host", "model_port"]
