/**
 * Deadlines where a timer needs them. Hosts validate and keep them in Rust.
 *
 * @module
 */

const DATE_TIME = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/

/**
 * Milliseconds since 1970 of an RFC 3339 date-time. As in the core, a leap second is the first of the next minute;
 * `Date` does not know them.
 *
 * @throws TypeError when `deadline` is no date-time.
 */
export function epochMs(deadline: string): number {
  const regular = deadline.replace(/:60(?=[.Zz+-])/, ':59')
  const at = Date.parse(regular.toUpperCase())
  if (!DATE_TIME.test(deadline) || Number.isNaN(at)) throw new TypeError('deadline must be an RFC 3339 date-time')
  return regular === deadline ? at : at + 1000
}
