from agent_ls.domain import run_events as run_events
from agent_ls.domain.errors import AgentLsError as AgentLsError
from agent_ls.headless import run as run

__version__: str
