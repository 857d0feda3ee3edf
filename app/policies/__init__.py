"""A repository's policy held against requests and against pull requests that edit it."""
