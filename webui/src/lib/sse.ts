/**
 * The text of an event stream (WHATWG HTML 9.2.6) in pieces -> messages. Unlike EventSource it also
 * tells of comments, which are how the server says that it is still there.
 */
export interface Message {
  event: string;
  data: string;
  id: string;
}

export class SseParser {
  private rest = "";
  private event = "";
  private data: string[] = [];
  /** The last id seen, to go on from. */
  lastId = "";

  constructor(private readonly onMessage: (message: Message) => void) {}

  push(text: string): void {
    this.rest += text;
    for (;;) {
      const match = /\r\n|\n|\r(?!$)/.exec(this.rest);
      if (match === null) return;
      const line = this.rest.slice(0, match.index);
      this.rest = this.rest.slice(match.index + match[0].length);
      this.line(line);
    }
  }

  private line(line: string): void {
    if (line === "") {
      if (this.data.length > 0)
        this.onMessage({ event: this.event || "message", data: this.data.join("\n"), id: this.lastId });
      this.event = "";
      this.data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.event = value;
    else if (field === "data") this.data.push(value);
    else if (field === "id" && !value.includes("\0")) this.lastId = value;
  }
}
