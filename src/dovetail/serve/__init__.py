"""Alignments over HTTP: the app and the server of `dovetail serve`, and a client that needs neither."""

from __future__ import annotations

from dovetail.serve.client import Answer, Client, Refused

__all__ = ["Answer", "Client", "Refused"]
