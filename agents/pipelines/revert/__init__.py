"""What takes back a change that was merged: another pull request, built by git and checked."""
