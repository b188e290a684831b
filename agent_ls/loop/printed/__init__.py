"""Tool calls that a model wrote into its text: the formats, as data, and their one reader."""
