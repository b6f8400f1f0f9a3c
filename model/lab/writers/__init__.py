"""What puts published figures into records: one small module per kind of record or collector file."""
