"""Files and processes without an editor: disk, command runner, ignore rules, dry run."""
