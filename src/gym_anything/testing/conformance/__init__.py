"""The conformance suite: what every runner owes, as tests to run in its own CI (see ``build``)."""
