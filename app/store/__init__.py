"""What Fettle remembers: tables, migrations and their queries."""
