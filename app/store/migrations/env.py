"""What alembic runs to apply migrations; the connection is handed in by `upgrade`."""

from __future__ import annotations

from alembic import context

from app.store.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite cannot alter most things in place
)
context.run_migrations()
