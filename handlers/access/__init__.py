"""The rules for who may start, steer and approve what: facts in, a refusal or nothing out."""
