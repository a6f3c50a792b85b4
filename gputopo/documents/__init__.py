"""The JSON documents: typed dicts, model → dict and back, schema; the only place that knows camelCase."""
