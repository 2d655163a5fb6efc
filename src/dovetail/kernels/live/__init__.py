"""The HMM over live cells: the few that a link may take."""
