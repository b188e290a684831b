"""The boundary around commands: the operating system holds what their text cannot show."""
