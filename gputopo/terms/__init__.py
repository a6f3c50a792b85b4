"""The words of the field as small types: true on any machine, bound to no source."""
