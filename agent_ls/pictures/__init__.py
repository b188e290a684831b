"""Images that the model is to see: checked by their content and made small enough to be sent."""
