"""Images of guests: recipes, the builder of root file systems, their store, and the formats they are turned into."""
