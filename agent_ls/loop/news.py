"""What could let a call come out differently than before; shared by all who count calls in vain."""

from __future__ import annotations

from agent_ls.domain import events as e
from agent_ls.domain.calls import ToolResult


def is_news(event: e.Event) -> bool:
    """Say whether an event changes what calls meet: a file, the mode, or the person's words."""
    match event:
        case e.EditApplied() | e.ReviewApplied():
            return event.status == "applied"
        case e.ModeChanged():
            return True
        case e.PromptQueued():
            return event.kind == "steer"
        case e.QuestionResolved():
            return event.answer.is_answered
        case e.ApprovalResolved():
            is_said = bool(event.answer.note or event.answer.arguments_json)
            return is_said and event.answer.by != "nobody"
        case _:
            return False


class ReadVersions:
    """The texts that were read so far, by their version."""

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}

    def is_newer(self, result: ToolResult) -> bool:
        """Take a result in; say whether a file's text is another than when it was read before."""
        match result.data:
            case {"path": str(path), "version": str(version)} if result.error is None:
                before = self._versions.get(path)
                self._versions[path] = version
                return before not in (None, version)
            case _:
                return False
