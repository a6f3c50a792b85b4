"""The version, literal: importlib.metadata costs a third of `import typer` at start-up."""

__version__ = "0.1.0.dev0"
