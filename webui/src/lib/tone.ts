/** How a state word looks. Words that are not here look like nothing is known. */
export type Tone = "ok" | "warn" | "bad" | "busy" | "off";

const words: Record<Tone, readonly string[]> = {
  ok: ["in-sync", "ok", "done", "confirmed", "applied", "whole", "passed", "valid", "enabled", "cleared", "compliant", "success", "unchanged", "flashed", "ended", "full", "neither", "pass"],
  warn: ["warning", "held", "paused", "confirming", "stale", "soaking", "absent", "expired", "drift", "weak", "below", "pause", "link-reset", "driver-reload", "reboot", "halted", "pending-reset", "aborted", "cancelling", "degraded", "at-limit", "presses", "undone"],
  bad: ["failed", "quarantined", "error", "critical", "broken", "rolled-back", "revoked", "fault", "strong", "lost", "victim", "refused", "stuck", "fail"],
  busy: ["pending", "planning", "running", "preparing", "open", "rolling-back", "returning", "offered", "info", "fetching", "checking", "draining", "flashing", "activating", "verifying"],
  off: ["idle", "waiting", "unknown", "returned", "disabled", "not-applicable", "draft", "cancelled"],
};

export function toneOf(value: string | undefined): Tone {
  for (const [tone, list] of Object.entries(words) as [Tone, readonly string[]][])
    if (value !== undefined && list.includes(value)) return tone;
  return "off";
}
