"""The driver's answers as one plain document: recorded, replayed, asked through nvidia-ml-py.

Nothing here imports nvidia-ml-py (`pynvml`) or loads libnvidia-ml: the module is an argument.
docs/nvml-recording.md describes the document.
"""
