"""What the watch does where something broke after a merge: find out whether that is why."""
