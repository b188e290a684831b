export interface Line {
  name: string;
  priceCents: number;
  amount: number;
}

export function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`;
}

export function receipt(lines: Line[]): string {
  const total = lines.reduce((sum, line) => sum + line.priceCents * line.amount, 0);
  const rows = lines.map((line) => `${line.amount} x ${line.name}`);
  return [...rows, `Total ${euros(total)}`].join("\n");
}
