"""One verb a file: options → one call → a report. Loaded when that verb is called."""
