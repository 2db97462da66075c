"""Images of systems that install themselves: a pinned medium, answers, a machine that runs until it is done."""
