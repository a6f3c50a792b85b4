"""Views make blocks, renderers print them; foreign strings are escaped here."""
