"""What the model library does wrong for single providers, set right where it is loaded.

Each is undone by an upgrade that mends it; tests over real HTTP say what has to hold.
"""

from __future__ import annotations

import threading
from typing import Any


def mend_gemini(config: Any) -> None:
    """Have an answer of Gemini's end where Gemini ended it.

    Otherwise each piece of a stream counts as the last one, and half an answer for a whole.
    """
    known = config._check_finish_reason

    def check_finish_reason(message: object, finish_reason: str | None) -> str | None:
        return known(message, finish_reason) if finish_reason else None

    config._check_finish_reason = staticmethod(check_finish_reason)


def mend_ollama(info: Any) -> None:
    """Ask an Ollama server about a model where that holds nobody up.

    Otherwise each request asks it three times more, and everything waits while it is silent.
    """
    ask = info.get_runtime_model_info

    def get_runtime_model_info(
        self: object, model: str, api_base: str | None = None, api_key: str | None = None
    ) -> dict[str, Any]:
        if threading.current_thread() is not threading.main_thread():
            return ask(self, model, api_base, api_key)
        unknown = dict.fromkeys(("max_tokens", "max_input_tokens", "max_output_tokens"))
        costs = {"input_cost_per_token": 0.0, "output_cost_per_token": 0.0}
        return {"key": model, "litellm_provider": "ollama", "mode": "chat", **costs, **unknown}

    info.get_runtime_model_info = get_runtime_model_info
