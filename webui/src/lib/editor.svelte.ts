/** A document that is changed as text, checked by the rules as one types, and stored against the tag that was read. */
import { ApiProblem, type Finding } from "../api/problem";
import type { Schemas } from "../api/client";
import type { Json } from "./diff";
import { parse, print } from "./policy";

export interface Stored {
  doc: Json | undefined;
  etag: string | null;
}
export type Tag = { "If-Match": string } | { "If-None-Match": "*" };
export interface Query {
  dry_run?: true;
  message?: string;
}
export interface Written {
  etag: string | null;
  data: Schemas["Preview"] | Schemas["Written"];
}

/** How this kind of document is read, checked and written. */
export interface Door {
  read: () => Promise<Stored>;
  check: (doc: Json) => Promise<Finding[]>;
  write: (doc: Json, header: Tag, query: Query) => Promise<Written>;
}

export class Editor {
  text = $state("");
  message = $state("");
  base = $state.raw<Json | undefined>(undefined);
  etag = $state<string | null>(null);
  loaded = $state(false);
  busy = $state(false);
  problem = $state.raw<unknown>(null);
  findings = $state.raw<readonly Finding[]>([]);
  preview = $state.raw<Schemas["Preview"] | null>(null);
  saved = $state<number | null>(null);
  theirs = $state.raw<Stored | null>(null);
  readonly parsed = $derived(parse(this.text));
  readonly changed = $derived(this.parsed.doc !== undefined && JSON.stringify(this.parsed.doc) !== JSON.stringify(this.base));

  constructor(
    private readonly door: Door,
    private readonly empty: string,
  ) {}

  async load(): Promise<void> {
    try {
      this.take(await this.door.read());
      this.problem = null;
    } catch (cause) {
      this.problem = cause;
    } finally {
      this.loaded = true;
    }
  }

  /** What is stored by now, for the next change; what was typed here stays, and stands beside it. */
  async look(): Promise<Stored> {
    const stored = await this.door.read();
    if (this.changed) this.theirs = stored;
    else this.take(stored);
    return stored;
  }

  /** Of what is stored, as far as it was looked at. */
  get newest(): string | null {
    return this.theirs === null ? this.etag : this.theirs.etag;
  }

  change(doc: Json): void {
    this.text = print(doc);
  }

  async check(doc: Json): Promise<void> {
    let findings: Finding[];
    try {
      findings = await this.door.check(doc);
    } catch (cause) {
      if (!(cause instanceof ApiProblem)) throw cause;
      findings = cause.findings;
    }
    if (doc === this.parsed.doc) this.findings = findings; // else it has been changed again
  }

  async put(dry: boolean): Promise<void> {
    const doc = this.parsed.doc;
    if (doc === undefined || this.busy) return;
    this.busy = true;
    this.problem = null;
    this.preview = null;
    this.saved = null;
    try {
      const tag: Tag = this.etag === null ? { "If-None-Match": "*" } : { "If-Match": this.etag };
      this.wrote(doc, await this.door.write(doc, tag, { ...(dry ? { dry_run: true as const } : {}), ...(this.message === "" ? {} : { message: this.message }) }));
    } catch (cause) {
      this.problem = cause;
      if (cause instanceof ApiProblem) {
        this.findings = cause.findings;
        if (cause.status === 412) this.theirs = await this.door.read();
      }
    } finally {
      this.busy = false;
    }
  }

  takeTheirs(): void {
    if (this.theirs === null) return;
    this.take(this.theirs);
    this.problem = null;
  }

  keepMine(): void {
    if (this.theirs === null) return;
    this.base = this.theirs.doc;
    this.etag = this.theirs.etag;
    this.theirs = null;
    this.problem = null;
  }

  private take(stored: Stored): void {
    this.base = stored.doc;
    this.etag = stored.etag;
    this.text = stored.doc === undefined ? this.empty : print(stored.doc);
    this.theirs = null;
  }

  private wrote(doc: Json, { etag, data }: Written): void {
    this.findings = data.findings;
    if ("dry_run" in data) {
      this.preview = data;
      return;
    }
    this.base = doc;
    this.etag = etag;
    this.saved = data.revision ?? null;
    this.message = "";
    this.theirs = null;
  }
}

const CHECK_MS = 500;

/** The rules are asked as one types. For a component's start. */
export function checkWhileTyping(editor: Editor, may: () => boolean): void {
  $effect(() => {
    const doc = editor.parsed.doc;
    if (!may() || !editor.loaded || doc === undefined || !editor.changed) return;
    const timer = setTimeout(() => void editor.check(doc), CHECK_MS);
    return () => clearTimeout(timer);
  });
}
