"""The tutor in a browser: a web server on loopback, and the tunnel to it from another machine."""
