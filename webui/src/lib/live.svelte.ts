/**
 * What happens on the server, as it happens: one event stream a browser. The tab that holds the lock
 * reads it and tells the others; when it closes, the next one takes over from the last id.
 */
import { SseParser } from "./sse";

export interface ServerEvent {
  id: number;
  kind: string;
  subject: string;
}
type Listener = (event: ServerEvent | "resync") => void;

interface Note {
  /** hello: a tab that has just come, and wants to hear. */
  type: "heard" | "event" | "resync" | "hello";
  event?: ServerEvent;
  id?: string;
}

const CHANNEL = "stellar-events";
/** Comments come every 15 s; after this nothing shown is sure to be current. */
export const STALE_AFTER_MS = 25_000;
const RETRY_MS = 2_000;
const RETRY_MAX_MS = 30_000;

export function isServerEvent(value: unknown): value is ServerEvent {
  if (typeof value !== "object" || value === null) return false;
  return (
    "id" in value && typeof value.id === "number" &&
    "kind" in value && typeof value.kind === "string" &&
    "subject" in value && typeof value.subject === "string"
  );
}

class Live {
  /** When anything was heard last, of any tab's stream; 0 = never yet. */
  heardAt = $state(0);
  now = $state(Date.now());
  private listeners = new Set<Listener>();
  private channel: BroadcastChannel | null = null;
  private stopper: AbortController | null = null;
  private timer: ReturnType<typeof setInterval> | undefined;
  private lastId = "";
  private isLeading = false;

  get ageMs(): number {
    return this.heardAt === 0 ? Number.POSITIVE_INFINITY : Math.max(0, this.now - this.heardAt);
  }
  get isStale(): boolean {
    return this.ageMs > STALE_AFTER_MS;
  }

  on(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): void {
    if (this.stopper !== null) return;
    const stopper = new AbortController();
    this.stopper = stopper;
    this.timer = setInterval(() => (this.now = Date.now()), 1000);
    this.channel = new BroadcastChannel(CHANNEL);
    this.channel.onmessage = (message: MessageEvent<Note>) => this.take(message.data);
    this.channel.postMessage({ type: "hello" } satisfies Note);
    if ("locks" in navigator)
      navigator.locks
        .request(CHANNEL, { signal: stopper.signal }, () => this.lead(stopper.signal))
        .catch(() => undefined);
    else void this.lead(stopper.signal);
  }

  stop(): void {
    this.stopper?.abort();
    this.stopper = null;
    this.channel?.close();
    this.channel = null;
    clearInterval(this.timer);
    this.heardAt = 0;
    this.isLeading = false;
    this.lastId = "";
  }

  private take(note: Note): void {
    if (note.type === "hello") {
      if (this.isLeading && !this.isStale) this.channel?.postMessage({ type: "heard", id: this.lastId } satisfies Note);
      return;
    }
    this.heardAt = this.now = Date.now();
    if (note.id !== undefined && note.id !== "") this.lastId = note.id;
    if (note.type === "event" && note.event !== undefined) for (const fn of this.listeners) fn(note.event);
    if (note.type === "resync") for (const fn of this.listeners) fn("resync");
  }

  private tell(note: Note): void {
    this.channel?.postMessage(note);
    this.take(note);
  }

  private async lead(signal: AbortSignal): Promise<void> {
    let wait = RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.stream(signal);
        wait = RETRY_MS;
      } catch {
        wait = Math.min(wait * 2, RETRY_MAX_MS);
      }
      if (signal.aborted) return;
      await new Promise((done) => setTimeout(done, wait));
    }
  }

  private async stream(signal: AbortSignal): Promise<void> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (this.lastId !== "") headers["Last-Event-ID"] = this.lastId;
    const response = await fetch("/v1/events", { headers, signal, cache: "no-store" });
    if (!response.ok || response.body === null) throw new Error(String(response.status));
    // What happened before a first stream was open is read by who shows it; after a gap the id is
    // what the stream goes on from.
    const parser = new SseParser((message) => {
      if (message.event === "resync") return this.tell({ type: "resync", id: message.id });
      const value: unknown = JSON.parse(message.data);
      if (isServerEvent(value)) this.tell({ type: "event", event: value, id: message.id });
    });
    this.isLeading = true;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.push(value);
      this.tell({ type: "heard", id: parser.lastId });
    }
  }
}

export const live = new Live();
