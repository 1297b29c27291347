"""Studies over models and methods: compare, tune, tradeoff, certify; each a folder with all that belongs to it.

The functions are called like their folders, so they are not repeated here: `holdtrue.compare` is a function,
`holdtrue.studies.compare` the room that it is from.
"""
