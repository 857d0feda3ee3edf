"""The findings of a remediation: open alerts, copies in lock files, reach."""
