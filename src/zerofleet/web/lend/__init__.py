"""The gateway for lent tabs: messages, assignments, trust, accounts."""
