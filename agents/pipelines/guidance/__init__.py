"""Guidance: propose to write down what people said more than once of what Fettle made."""
