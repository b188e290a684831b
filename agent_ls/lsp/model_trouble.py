"""What is told of a model that fails: one notice a turn, gone when an answer came, and the end.

Pure: the same events give the same notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_ls.domain import events as e
from agent_ls.domain.errors import ProviderFailure
from agent_ls.domain.stops import StopReason
from agent_ls.lsp import wire
from agent_ls.lsp.ends import End, end_of, failure_of
from agent_ls.lsp.notices import notice

_PASSING: Final = frozenset({"", "retry", "reask", "compact"})
"""Actions that leave nothing to know once an answer came; empty: none was chosen yet."""
_LASTING: Final = frozenset({ProviderFailure.NO_IMAGES, ProviderFailure.BAD_IMAGE})
"""After these the turn goes on without what the user sent."""
_RETRYING: Final = ", retrying"


@dataclass(slots=True)
class ModelTrouble:
    """How the requests to the model go in the current turn."""

    session_model: str = ""
    _model: str = ""
    """The one asked in this turn, if not the session's."""
    _turn_id: str = ""
    _failure: ProviderFailure | None = None
    """Of the last request; None when it was answered."""
    _has_answered: bool = False
    _is_told: bool = False
    """Whether the notice is shown."""
    _is_passing: bool = True
    """Whether it goes when an answer comes."""

    def feed(self, event: e.Event) -> list[wire.Update]:
        """Take in the next event; return the notice's removal if the trouble is over."""
        match event:
            case e.SessionCreated(model=model) | e.ModelChanged(model=model):
                self.session_model, self._model = model, ""
            case e.TurnStarted():
                self._turn_id, self._model, self._failure = event.turn_id, "", None
                self._has_answered, self._is_told, self._is_passing = False, False, True
            case e.AttemptFinished():
                self._failure = _known(event.failure)
            case e.RecoveryChosen(action="switch_model", model=model):
                self._model = model
            case e.Answered(origin="model"):
                self._has_answered = True
                return self.take_back() if self._is_passing else []
            case e.TurnEnded():
                return self.take_back() if self._is_passing else []
            case _:
                pass
        return []

    @property
    def model(self) -> str:
        """Return the model that is asked."""
        return self._model or self.session_model

    def id_of(self, origin: str) -> str:
        """Return the id of the turn's notice of this origin."""
        return f"{origin}:{self._turn_id}"

    def tell(self, words: str, action: str = "") -> list[wire.Update]:
        """Return the notice with these words, in the place of an earlier one; nothing for none."""
        if not words:
            return []
        self._is_told = True
        self._is_passing = action in _PASSING and self._failure not in _LASTING
        title = failure_of(self._failure, self.model).title if self._failure else ""
        if title and action == "retry":
            title += _RETRYING
        return [notice("warning", "model", words, self.id_of("model"), title=title)]

    def take_back(self) -> list[wire.Update]:
        """Return the removal of the notice if it is shown."""
        told, self._is_told = self._is_told, False
        return [notice("info", "model", "", self.id_of("model"))] if told else []

    def end(self, ended: e.TurnEnded) -> tuple[ProviderFailure | None, End]:
        """Return what the model's failure was, if it ended the turn, and how the end is shown."""
        failure = self._failure if ended.stop is StopReason.ERROR else None
        stop, status = ended.stop, ended.status
        return failure, end_of(stop, status, failure, self.model, has_answered=self._has_answered)


def _known(failure: str | None) -> ProviderFailure | None:
    """Return the failure; None for none, and for a word of another version."""
    return ProviderFailure(failure) if failure in {*ProviderFailure} else None
