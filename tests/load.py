"""What `dovetail serve` stands: honest clients while others send nothing, or very slowly, or do not read.

    python tests/load.py --clients 200 --requests 50    # and see how long the slowest waited

A short share of it is part of the test suite.  Everything happens on this machine, in one process beside the server's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from dovetail import Aligner, read_bitext
from serving import serving

PAIR = {"source": "the old man lives in a small house", "target": "le vieil homme vit dans une petite maison"}
PATIENCE = 60.0  # seconds after which the server has failed to close a connection


@dataclass
class Outcome:
    times: list[float] = field(default_factory=list)  # seconds of each honest request
    failures: list[str] = field(default_factory=list)  # of the honest ones
    hangers_on: list[float] = field(default_factory=list)  # seconds until the server closed each of the others

    def quantile(self, share: float) -> float:
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]

    def __str__(self) -> str:
        waited = ", ".join(f"p{100 * share:.0f} {1000 * self.quantile(share):,.0f} ms" for share in (0.5, 0.9, 0.99))
        slowest = f"the slowest {1000 * max(self.times):,.0f} ms"
        closed = f"; others were closed after {max(self.hangers_on):.1f} s at most" if self.hangers_on else ""
        return f"{len(self.times):,} requests, {len(self.failures):,} failed; {waited}, {slowest}{closed}"


def post(value: object, path: str = "/align") -> bytes:
    body = json.dumps(value).encode()
    lines = f"POST {path} HTTP/1.1", "host: 127.0.0.1", "content-type: application/json", f"content-length: {len(body)}"
    return "\r\n".join([*lines, "", ""]).encode() + body


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = int(head.partition("content-length:")[2].partition("\r")[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def honest(port: int, requests: int, outcome: Outcome) -> None:
    """Asks, waits for the answer, asks again, on one connection."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(requests):
            began = time.perf_counter()
            writer.write(post(PAIR))
            status, body = await read_answer(reader)
            outcome.times.append(time.perf_counter() - began)
            if status != 200:
                outcome.failures.append(f"{status}: {body[:200]!r}")
        writer.close()
    except (OSError, EOFError) as error:
        outcome.failures.append(repr(error))


async def hang_on(port: int, pieces: list[bytes], pause: float, outcome: Outcome) -> None:
    """Sends pieces with pauses between them, and then nothing, until the server has enough of it."""
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    ended = asyncio.ensure_future(reader.read())
    try:
        for piece in pieces:
            if ended.done():
                break
            writer.write(piece)
            await asyncio.wait({ended}, timeout=pause)
        await ended
    except OSError:
        pass
    finally:
        writer.close()
    outcome.hangers_on.append(time.perf_counter() - began)


async def not_reading(port: int, outcome: Outcome) -> None:
    """Asks for a large answer again and again and reads nothing of it."""
    began = time.perf_counter()
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    large = {"source": "the " * 300, "target": "le " * 300, "posteriors": True}
    try:
        for _ in range(20):
            writer.write(post(large))
            await writer.drain()
        while not writer.is_closing():
            await asyncio.sleep(0.2)
            writer.write(b" ")
            await writer.drain()
    except OSError:
        pass
    outcome.hangers_on.append(time.perf_counter() - began)


async def storm(port: int, clients: int, requests: int, slow: int, idle: int, deaf: int = 0) -> Outcome:
    """All at once."""
    outcome = Outcome()
    dribble = [bytes([byte]) for byte in post(PAIR)]
    others = [hang_on(port, dribble, 0.3, outcome) for _ in range(slow)]
    others += [hang_on(port, [], 0.0, outcome) for _ in range(idle)]
    others += [not_reading(port, outcome) for _ in range(deaf)]
    waiting = asyncio.gather(*(asyncio.wait_for(other, PATIENCE) for other in others))
    await asyncio.sleep(0.3)  # they are there first
    await asyncio.gather(*(honest(port, requests, outcome) for _ in range(clients)))
    await waiting
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=50, help="of each client")
    parser.add_argument("--slow", type=int, default=50, help="connections that send a byte now and then")
    parser.add_argument("--idle", type=int, default=500, help="connections that send nothing")
    parser.add_argument("--deaf", type=int, default=5, help="connections that do not read their answers")
    chosen = parser.parse_args()
    demo = files("dovetail") / "data"
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "demo.model"
        Aligner().fit(read_bitext(demo / "demo.en", demo / "demo.fr")).save(place)
        with serving("--load", f"demo={place}") as served:
            began = time.perf_counter()
            outcome = asyncio.run(
                storm(served.port, chosen.clients, chosen.requests, chosen.slow, chosen.idle, chosen.deaf)
            )
            print(f"{outcome}; {time.perf_counter() - began:.1f} s in all")
    for failure in outcome.failures[:10]:
        print(failure, file=sys.stderr)
    sys.exit(1 if outcome.failures else 0)


if __name__ == "__main__":
    main()
