"""What doctor tries, one area a file."""
