/** The hardware rules as people read them, and what they found. */
export interface Condition {
  fact: string;
  is?: boolean;
  at_least?: string | number;
  any_of?: readonly string[];
}

/** "pcie_gen ≥ 4", "model: *A100*", "not virtual_function" */
export function conditionText(condition: Condition): string {
  const { fact } = condition;
  if (condition.at_least !== undefined) return `${fact} ≥ ${condition.at_least}`;
  if (condition.any_of !== undefined) return `${fact}: ${condition.any_of.join(" | ")}`;
  return condition.is === false ? `not ${fact}` : fact;
}

export const conditionsText = (conditions: readonly Condition[] | undefined): string => (conditions ?? []).map(conditionText).join(", ");

/** How many findings each rule has. */
export function findingsByRule(findings: readonly { rule: string }[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { rule } of findings) counts.set(rule, (counts.get(rule) ?? 0) + 1);
  return counts;
}
