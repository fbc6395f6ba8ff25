"""Recording of other services: their orders without gaps, and their maps and rankings as they were served."""
