"""Files and processes without an editor.

Disk, runner, ignore rules, and the decorators of the workspace port.
"""
