"""Files: atomic writes, and safe opening in folders that may come from somebody else."""
