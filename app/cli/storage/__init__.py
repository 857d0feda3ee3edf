"""The commands that seal, copy, restore and delete what the server stores."""
