/** Paths and queries of the address bar as state; links and the back button work as everywhere. */
export interface Match {
  params: Record<string, string>;
}

/** "/nodes/{node}" against "/nodes/n1"; null = it does not fit. */
export function matchPath(pattern: string, path: string): Match | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const value = given[i] ?? "";
    if (part.startsWith("{") && part.endsWith("}")) {
      if (value === "") return null;
      try {
        params[part.slice(1, -1)] = decodeURIComponent(value);
      } catch {
        return null;
      }
    } else if (part !== value) return null;
  }
  return { params };
}

class Router {
  path = $state(location.pathname);
  search = $state(location.search);
  readonly query = $derived(new URLSearchParams(this.search));

  constructor() {
    addEventListener("popstate", () => this.sync());
    addEventListener("click", (event) => this.click(event));
  }

  private sync(): void {
    this.path = location.pathname;
    this.search = location.search;
  }

  go(url: string, replace = false): void {
    if (replace) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
    const moved = location.pathname !== this.path;
    this.sync();
    if (moved && !replace) scrollTo(0, 0);
  }

  /** Changes the query in place; null takes a key away. */
  set(changes: Record<string, string | null>): void {
    const query = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(changes))
      if (value === null || value === "") query.delete(key);
      else query.set(key, value);
    const text = query.toString();
    this.go(location.pathname + (text === "" ? "" : "?" + text), true);
  }

  private click(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target.closest("a") : null;
    if (target === null || target.target !== "" || target.hasAttribute("download")) return;
    const url = new URL(target.href, location.href);
    if (url.origin !== location.origin || !isScreen(url.pathname)) return;
    event.preventDefault();
    if (url.pathname === location.pathname && url.hash !== "" && url.search === location.search) {
      document.querySelector<HTMLElement>(url.hash)?.focus();
      return;
    }
    this.go(url.pathname + url.search);
  }
}

/** Other paths are the server's own. */
function isScreen(path: string): boolean {
  return !path.startsWith("/v1/") && path !== "/openapi.json" && path !== "/metrics";
}

export const router = new Router();
