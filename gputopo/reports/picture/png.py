"""The SVG as a PNG, by CairoSVG: an extra, since it needs the cairo library."""

from __future__ import annotations

from gputopo.errors import GputopoError

_SCALE = 2.0
_MOST_PIXELS = 100_000_000


def render(svg: str, width: float, height: float) -> bytes:
    """Twice the size of the SVG, less where that would be too much. Raises GputopoError: nothing here can do it."""
    try:
        import cairosvg  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except (ImportError, OSError) as error:  # the package, or the library below it
        hint = "pip install 'gputopo[png]', or gputopo draw -o svg"
        raise GputopoError("-o png needs CairoSVG and the cairo library", "", hint) from error
    scale = min(_SCALE, (_MOST_PIXELS / max(1.0, width * height)) ** 0.5)
    drawn = cairosvg.svg2png(bytestring=svg.encode(), scale=scale)
    return bytes(drawn)
