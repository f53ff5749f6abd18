/**
 * Times as the server counts them (doc/telemetry.md): columns NAME.b0 to NAME.b49, two buckets an
 * octave, the first up to 256 ns, the last what took longer than all others.
 */
const BUCKETS = 50;
const FIRST_NS = 256;

/** The bucket of "latency.b7"; undefined = it is none of that name. */
export function bucketOf(name: string, metric: string): number | undefined {
  const match = /^(.*)\.b(\d{1,2})$/.exec(metric);
  const bucket = Number(match?.[2]);
  return match?.[1] === name && bucket < BUCKETS ? bucket : undefined;
}

/** The end of a bucket; Infinity of the last. */
export const endNs = (bucket: number): number => (bucket >= BUCKETS - 1 ? Infinity : FIRST_NS * 2 ** (bucket / 2));

/** So many of all (0 to 1) took at most this long: a bucket's end. undefined = nothing was counted. */
export function quantileNs(counts: ReadonlyMap<number, number>, share: number): number | undefined {
  const buckets = [...counts].filter(([, n]) => n > 0).sort(([a], [b]) => a - b);
  const total = buckets.reduce((sum, [, n]) => sum + n, 0);
  let seen = 0;
  for (const [bucket, n] of buckets) {
    seen += n;
    if (seen >= total * share) return endNs(bucket);
  }
  return undefined;
}
