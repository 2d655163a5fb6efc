"""Links made by hand: what is offered, what is kept of it, and the app of `dovetail annotate` around both."""
