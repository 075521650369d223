"""Problems of lessons, found before a learner meets them."""
