/**
 * Whether a request fits a rule's conditions.
 *
 * @module
 */

import type { Risk } from '../contract.ts'

/** A list that is left out fits everything. */
export function matchesAny(patterns: readonly string[] | undefined, value: string): boolean {
  return patterns === undefined || patterns.some(pattern => matches(pattern, value))
}

function matches(pattern: string, value: string): boolean {
  if (pattern.endsWith('*')) return value.startsWith(pattern.slice(0, -1))
  // Only host patterns begin with a star; the validator sees to that.
  if (pattern.startsWith('*.')) return value.endsWith(pattern.slice(1)) && value.length > pattern.length - 1
  return pattern === value
}

/** Rank of a risk; one that is not stated ranks as the highest. */
export function riskRank(risk: Risk | undefined): number {
  return { low: 0, medium: 1, high: 2 }[risk ?? 'high']
}
