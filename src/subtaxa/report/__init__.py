"""What a reader sees of a run: the report (page.py), figures for a notebook (plots.py), tables for a terminal.

This file imports nothing, so that a table for a terminal needs neither jinja2 nor matplotlib.
"""
