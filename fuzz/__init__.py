"""Mutated inputs against every parser: nothing but a refusal may come of them.

`python -m fuzz [TARGET…] --seconds 60 [--seed N]`, or `make fuzz SECONDS=60`. What it finds is made
small, kept in fuzz/corpus/PARSER/ and replayed by tests/test_fuzz_corpus.py for ever after.
"""
