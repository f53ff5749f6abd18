/** Values as people read them. What is not known is a dash, never 0. */
export const NOTHING = "–";

export function bps(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return NOTHING;
  for (const [unit, size] of [["Tbps", 1e12], ["Gbps", 1e9], ["Mbps", 1e6], ["kbps", 1e3]] as const)
    if (value >= size) return trim(value / size) + " " + unit;
  return trim(value) + " bps";
}

export function bytes(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return NOTHING;
  for (const [unit, size] of [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]] as const)
    if (value >= size) return trim(value / size) + " " + unit;
  return trim(value) + " B";
}

/** Three digits that count. */
export function trim(value: number): string {
  if (!Number.isFinite(value)) return NOTHING;
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

export function count(value: number | undefined | null, language: string): string {
  return value === undefined || value === null ? NOTHING : value.toLocaleString(language);
}

export function time(text: string | undefined | null, language: string): string {
  if (text === undefined || text === null) return NOTHING;
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return NOTHING;
  return date.toLocaleString(language, {
    year: "numeric", month: "2-digit", day: "2-digit",
    hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false,
  });
}

/** A tick of an axis of time in 24 hours, as fine as the ticks stand apart; midnight is its day. */
export function tick(atS: number, apartS: number, language: string): string {
  const date = new Date(atS * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (apartS >= 86_400 || (isMidnight && apartS >= 60)) return date.toLocaleDateString(language, { day: "numeric", month: "short" });
  return date.toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", ...(apartS < 60 ? { second: "2-digit" as const } : {}), hourCycle: "h23" });
}

/** Seconds between a time of the server and now; undefined = no such time. */
export function ageS(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? undefined : Math.max(0, Math.round((now - at) / 1000));
}

/** "12 s", "3 min", "5 h", "2 d" */
export function duration(seconds: number | undefined): string {
  if (seconds === undefined) return NOTHING;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function digest(text: string | undefined): string {
  return text === undefined ? NOTHING : text.replace(/^sha256:/, "").slice(0, 12);
}

/** "900 ns", "12.3 µs", "4.1 ms"; what took longer than the last bucket's end is "> 4 s". */
export function nanoseconds(value: number | undefined): string {
  if (value === undefined) return NOTHING;
  if (value === Infinity) return "> 4 s";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["µs", 1e3]] as const)
    if (value >= size) return `${trim(value / size)} ${unit}`;
  return `${trim(value)} ns`;
}
