"""From features to categories: array functions, without a model or a disk."""
