"""Commands of ``liqdata``, one file each; ``menu`` lists them. A file has a function ``command``."""
