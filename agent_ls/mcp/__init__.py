"""Tool servers (Model Context Protocol): approved, pinned, started when used, ended with us."""
