"""Where bytes come from; sizes and paths guarded; no meaning."""
