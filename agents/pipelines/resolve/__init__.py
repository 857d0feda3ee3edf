"""The resolve pipeline: a labelled issue becomes a pull request."""
