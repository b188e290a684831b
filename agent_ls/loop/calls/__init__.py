"""Tool calls: from the model's text to the one recorded result."""
