"""The pages that people read, as the tests see them: what stands in their blocks, and what it does when it is run."""
