"""The panel as users see it: states recorded from the real server, and pictures of them."""
