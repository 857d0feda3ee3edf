"""Guidance: what people said of earlier work, and when it is proposed to write it down."""
