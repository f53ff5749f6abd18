/** Who is logged in, and what they may do. */
import { api, read, whenUnauthenticated, type Schemas } from "../api/client";
import { ApiProblem } from "../api/problem";
import { live } from "./live.svelte";

export type Role = "admin" | "operator" | "auditor" | "tenant-admin" | "tenant-user";

export const OPS: readonly Role[] = ["admin", "operator"];
export const STAFF: readonly Role[] = ["admin", "operator", "auditor"];
export const TENANTS: readonly Role[] = ["tenant-admin", "tenant-user"];
export const READERS: readonly Role[] = ["admin", "auditor"];
export const MANAGERS: readonly Role[] = ["admin", "tenant-admin"];
export const OWNERS: readonly Role[] = ["admin", "operator", "tenant-admin"];

class Session {
  who = $state.raw<Schemas["Session"] | null>(null);
  /** False until the first answer is there. */
  known = $state(false);
  problem = $state.raw<ApiProblem | null>(null);

  constructor() {
    whenUnauthenticated(() => this.ended());
  }

  may(roles: readonly Role[]): boolean {
    return roles.some((role) => role === this.who?.role);
  }

  get tenant(): string | undefined {
    return this.who?.tenant;
  }

  async resume(): Promise<void> {
    try {
      this.began((await read(api.GET("/v1/session"))).data);
    } catch (cause) {
      if (!(cause instanceof ApiProblem)) throw cause;
      this.problem = cause.status === 401 ? null : cause;
      this.who = null;
    } finally {
      this.known = true;
    }
  }

  async login(name: string, password: string): Promise<void> {
    const { data } = await read(api.POST("/v1/session", { body: { name, password } }));
    this.began(data);
    // Without the cookie nothing else would work: say so here.
    await read(api.GET("/v1/session"));
  }

  async logout(): Promise<void> {
    await read(api.DELETE("/v1/session"));
    this.ended();
  }

  private began(who: Schemas["Session"]): void {
    this.who = who;
    this.problem = null;
    live.start();
  }

  private ended(): void {
    live.stop();
    this.who = null;
  }
}

export const session = new Session();
