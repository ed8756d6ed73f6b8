"""From a model's call to its answer: registry, executor, events, journal."""
