"""The processes that run verifiers: a fork server, and for each verdict a guard and the verifier itself."""
