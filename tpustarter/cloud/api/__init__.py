"""Google's APIs: clients, credentials, responses as plain data, errors."""
