"""The sandboxes in which commands of agents run, and the attacks that each must withstand."""
