"""What this benchmark offers to Python code; command lines and specs need none of it."""
