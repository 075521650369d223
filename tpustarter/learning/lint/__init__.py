"""Problems in lessons, found before a learner meets them."""
