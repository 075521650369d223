"""Google's interfaces: clients, credentials, answers as plain data, errors."""
