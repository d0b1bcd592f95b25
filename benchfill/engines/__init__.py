"""Where work is done: in processes of this machine, or on a Ray cluster. The work does not know which."""
