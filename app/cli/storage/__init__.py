"""The commands that encrypt, copy, restore and delete what the server stores."""
