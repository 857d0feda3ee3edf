"""Each table that holds something of a repository is emptied when that is forgotten."""

from __future__ import annotations

from app.store.repository_rows import OF_A_REPOSITORY
from app.store.tables import metadata

BY_OTHER_WAYS = {
    "audit": "in place: the chain of hashes holds",
    "remediations": "with their run",
    "runs": "in parts, since each may have megabytes",
    "batches": "with their run",
    "proposals": "with their run",
}


def test_no_table_of_a_repository_is_left_out():
    holding = {name for name, table in metadata.tables.items() if "repository_id" in table.c}

    assert holding == {table.name for table in OF_A_REPOSITORY} | BY_OTHER_WAYS.keys()
    for name, way in BY_OTHER_WAYS.items():
        if way == "with their run":
            keys = {key.column.table.name for key in metadata.tables[name].foreign_keys}
            assert "runs" in keys, name
