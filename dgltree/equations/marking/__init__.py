"""Answers of people: marked, and wrong ones made up for multiple choice."""
