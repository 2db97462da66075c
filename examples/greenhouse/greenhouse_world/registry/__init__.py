"""What this benchmark offers to Python code."""
