"""Views: what a verb shows, as blocks. One file a verb, or a section of it."""
