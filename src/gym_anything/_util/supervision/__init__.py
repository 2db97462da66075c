"""The inside of the supervisor process. It imports only what starts in milliseconds."""
