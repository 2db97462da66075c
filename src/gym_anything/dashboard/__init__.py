"""The viewer: experiments as a web page on loopback."""
