"""What worlds in containers share, whatever runs the container: the shared folder, accounts, the desktop's bring-up."""
