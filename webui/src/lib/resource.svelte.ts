/**
 * Something read from the server that is read again when an event says it may have changed. To be
 * made while a component is set up; `load` may read reactive state and runs again when that changes.
 */
import { untrack } from "svelte";

import { ApiProblem } from "../api/problem";
import { live, type ServerEvent } from "./live.svelte";

const AGAIN_MS = 400;

export interface ResourceOptions {
  /** Beginnings of kinds of events ("node.", "policy.changed"); none = it never changes by itself. */
  kinds?: readonly string[];
  /** Of these subjects only: itself or what is below it. */
  subject?: () => string;
  /** Also read each so many milliseconds, for what has no events. */
  everyMs?: number;
}

export function isOf(event: ServerEvent, kinds: readonly string[], subject: string | undefined): boolean {
  if (!kinds.some((kind) => event.kind.startsWith(kind))) return false;
  return subject === undefined || event.subject === subject || event.subject.startsWith(subject + "/");
}

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined);
  problem = $state.raw<ApiProblem | undefined>(undefined);
  loading = $state(true);
  loadedAt = $state(0);
  private turn = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly load: () => Promise<T>,
    options: ResourceOptions = {},
  ) {
    $effect(() => {
      void this.run();
    });
    $effect(() => {
      const off = live.on((event) => {
        const kinds = options.kinds ?? [];
        if (kinds.length > 0 && (event === "resync" || isOf(event, kinds, options.subject?.()))) this.soon();
      });
      const every = options.everyMs === undefined ? undefined : setInterval(() => this.reload(), options.everyMs);
      return () => {
        off();
        clearInterval(every);
        clearTimeout(this.timer);
        this.timer = undefined;
      };
    });
  }

  reload(): void {
    void untrack(() => this.run());
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.reload();
    }, AGAIN_MS);
  }

  private async run(): Promise<void> {
    const turn = ++this.turn;
    const reading = this.load(); // before the first wait: what it reads is what it depends on
    untrack(() => (this.loading = true));
    try {
      const data = await reading;
      if (turn !== this.turn) return;
      this.data = data;
      this.problem = undefined;
      this.loadedAt = Date.now();
    } catch (cause) {
      if (turn !== this.turn) return;
      if (!(cause instanceof ApiProblem)) throw cause;
      this.problem = cause;
      if (cause.status === 404 || cause.status === 403) this.data = undefined;
    } finally {
      if (turn === this.turn) this.loading = false;
    }
  }
}
