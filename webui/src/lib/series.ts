/** A series of the server (steps of which something is known) as a line with gaps. */
export interface SeriesAnswer {
  from: string;
  step_s: number;
  series: { type: "counter" | "gauge"; points: number[][] }[];
}

export function pointsOf(answer: SeriesAnswer): { times: number[]; values: (number | null)[] } {
  const times: number[] = [];
  const values: (number | null)[] = [];
  const first = answer.series[0];
  const start = new Date(answer.from).getTime() / 1000;
  if (first === undefined || Number.isNaN(start)) return { times, values };
  let before: number | undefined;
  for (const [at = 0, sum = 0, , , weight = 0] of first.points) {
    if (weight <= 0) continue;
    if (before !== undefined && at - before > answer.step_s * 1.5) {
      times.push(start + before + answer.step_s); // a step of which nothing is known
      values.push(null);
    }
    times.push(start + at);
    values.push(first.type === "counter" ? (sum * 1000) / weight : sum / weight);
    before = at;
  }
  return { times, values };
}
