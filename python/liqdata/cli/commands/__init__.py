"""Commands of ``liqdata``, in one file each; ``menu`` lists them. Each file has a function ``command``."""
