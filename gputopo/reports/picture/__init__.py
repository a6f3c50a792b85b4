"""A node as a picture: parts (what is to be seen) → scene (where it is) → SVG, PNG; DOT, Mermaid, text from parts.

Everything is decided before it is drawn: nest.py puts devices into boxes, wires.py finds NVLinks and fabrics,
marks.py what a person asked to see, notes.py what is inferred or unknown. A renderer only writes down.
"""
