// Changes on their way to the server: in order, one at a time, and again until they are saved.  What waits is also kept in
// the browser, so that closing the page, or losing the server, loses nothing.

const AGAIN = 1000; // milliseconds between attempts when the server does not answer

export async function ask(address, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(address, options);
  const answer = await response.json();
  return { status: response.status, ok: response.ok, answer };
}

// `report` gets {saved, state}, {conflict, state}, {refused} or {lost}, each with the pair's number.
export class Saving {
  constructor(place, report) {
    this.place = place;
    this.report = report;
    this.versions = new Map(); // of each pair, as the server last said
    this.waiting = this.recall();
    this.settled = new Map(); // what to call when a change is saved or given up
    this.busy = false;
    for (const change of this.waiting) if (!this.versions.has(change.pair)) this.versions.set(change.pair, change.version);
  }

  recall() {
    try {
      return JSON.parse(localStorage.getItem(this.place)) ?? [];
    } catch {
      return [];
    }
  }

  keep() {
    try {
      if (this.waiting.length) localStorage.setItem(this.place, JSON.stringify(this.waiting));
      else localStorage.removeItem(this.place);
    } catch {
      // A browser that keeps nothing: then the page alone does, as long as it is open.
    }
  }

  pending(pair) {
    return this.waiting.some((change) => change.pair === pair);
  }

  // Settled when the change is saved, or given up.
  add(change) {
    const own = { ...change, version: this.versions.get(change.pair) ?? 0 };
    this.waiting.push(own);
    this.keep();
    const settled = new Promise((done) => this.settled.set(own, done));
    this.send();
    return settled;
  }

  async send() {
    if (this.busy) return;
    this.busy = true;
    clearTimeout(this.timer);
    try {
      while (this.waiting.length) await this.sendFirst();
    } catch {
      this.report({ lost: true, pair: this.waiting[0]?.pair });
      this.timer = setTimeout(() => this.send(), AGAIN);
    } finally {
      this.busy = false;
    }
  }

  async sendFirst() {
    const change = this.waiting[0];
    const { pair } = change;
    const { status, ok, answer } = await ask("/save", { ...change, version: this.versions.get(pair) ?? 0 });
    if (status >= 500) throw new Error(answer.error);
    if (ok) {
      this.versions.set(pair, answer.version);
      this.drop((one) => one === change, () => this.report({ saved: true, pair, state: answer }));
    } else if (status === 409 && change.action === "set" && answer.state.links === change.links) {
      // It was saved before, and only the answer was lost.
      this.versions.set(pair, answer.state.version);
      this.drop((one) => one === change, () => this.report({ saved: true, pair }));
    } else {
      if (status === 409) this.versions.set(pair, answer.state.version);
      // With all others of this pair, which were made on top of it.
      this.drop((one) => one.pair === pair, () => this.report({ conflict: status === 409, refused: answer.error, pair, state: answer.state }));
    }
  }

  drop(which, report) {
    const gone = this.waiting.filter(which);
    this.waiting = this.waiting.filter((change) => !which(change));
    this.keep();
    report();
    for (const change of gone) {
      this.settled.get(change)?.();
      this.settled.delete(change);
    }
  }
}
