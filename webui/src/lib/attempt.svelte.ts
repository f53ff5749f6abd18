/** Something a person asks the server for: one at a time; what it said against it stays until the next. */
import { ApiProblem, type Finding } from "../api/problem";

export class Attempt {
  problem = $state.raw<unknown>(null);
  busy = $state(false);

  /** What the server said of single fields. */
  get findings(): readonly Finding[] {
    return this.problem instanceof ApiProblem ? this.problem.findings : [];
  }

  /** Whether it went well; a second call while one runs does nothing. */
  async run(what: () => Promise<unknown>): Promise<boolean> {
    if (this.busy) return false;
    this.busy = true;
    this.problem = null;
    try {
      await what();
      return true;
    } catch (cause) {
      this.problem = cause;
      return false;
    } finally {
      this.busy = false;
    }
  }
}

/** The reason that a person gave, as a query; none when there is none. */
export function because(reason: string): { reason?: string } {
  const text = reason.trim();
  return text === "" ? {} : { reason: text };
}
