"""Studies over models and methods: compare, tune, tradeoff, certify, group_actions; each a folder of its own.

The functions are called like their folders, so they are not repeated here: `holdtrue.compare` is a function,
`holdtrue.studies.compare` the room that it is from.
"""
