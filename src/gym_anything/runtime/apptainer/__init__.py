"""Apptainer as a tool: its program, its command lines, a process that keeps an instance. No policy of any runner."""
