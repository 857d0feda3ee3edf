"""How an operator's Fettle gets its GitHub App: a new one from app.yml, or one that is there."""
