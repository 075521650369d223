"""The tutor in a browser: a web server on loopback, and how to reach it from another machine."""
