"""Two tasks in the office of a greenhouse: content for gym-anything, found by the name of this package."""
