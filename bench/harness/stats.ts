/** A value below which the fraction `at` of the values lies, interpolated between neighbours; NaN of nothing. */
export function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const position = at * (sorted.length - 1)
  const lower = sorted[Math.floor(position)] ?? Number.NaN
  const upper = sorted[Math.ceil(position)] ?? Number.NaN
  return lower + (upper - lower) * (position - Math.floor(position))
}

/** The middle value; NaN of nothing. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}
