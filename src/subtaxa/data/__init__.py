"""A user's file in, a user's file out."""
