"""What the parts of this package reach on this machine, beside the ways in use elsewhere."""
