"""No sandbox: commands run on this machine as it is, for operators who said so twice."""
