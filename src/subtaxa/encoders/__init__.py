"""Turns texts into features: encoders, their trained part, tokens, augmentation and lexical features."""
