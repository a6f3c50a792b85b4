"""Rules over manifests and configuration files, GT3xx: one rule a file, listed in rules/codes.py."""
