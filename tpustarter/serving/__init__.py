"""The tutor in a browser: a web server on loopback, and the way to it from another machine."""
