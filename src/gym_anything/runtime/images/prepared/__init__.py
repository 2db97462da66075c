"""Images that others have made: had from a release, checked against pins, kept, read offline."""
