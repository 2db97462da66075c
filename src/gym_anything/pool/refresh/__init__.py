"""An idle host drains its pools, reboots and takes them up again, every two days: what leaks slowly goes with it."""
