"""A run: a resumable job over the rows of a table: read, check, solve, write, issue."""
