"""Files that extend the agent: custom commands, skills and kinds of sub-agents.

They come from the user's configuration folder and from trusted folders of the workspace.
"""
