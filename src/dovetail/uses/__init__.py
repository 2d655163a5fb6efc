"""What people do with links."""
