"""Toolbox for guests with Android: adb's protocol, spoken to ``adbd`` itself with no server between. No policy."""
