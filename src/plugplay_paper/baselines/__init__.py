"""The methods that the paper compares with, as far as they can be written from their papers."""
