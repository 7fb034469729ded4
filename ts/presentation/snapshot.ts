/**
 * One look at a value: own enumerable string keys read once, arrays densely, everything that is no data refused with its
 * path. What was looked at is what gets validated, frozen and used; the caller's object is never read again.
 *
 * @module
 */

import { PresentationTypeError } from './errors.ts'

/** Plain data. */
export type Data = null | boolean | number | string | readonly Data[] | { readonly [name: string]: Data }

/** A record of plain data. */
export type DataRecord = { readonly [name: string]: Data }

/** Deeper than any presentation value; cycles end here. */
const MAX_DEPTH = 16

/**
 * A deep-frozen copy of `value`. Members that are `undefined` are left out.
 *
 * @param label - How messages name the whole value.
 * @throws PresentationTypeError - When something in it is no data.
 */
export function snapshot(value: unknown, label: string): Data {
  return look(value, label, [])
}

/** As {@link snapshot}, for the members of a record, to which others will be added: frozen below, open itself. */
export function snapshotMembers(value: unknown, label: string): Record<string, Data> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new PresentationTypeError('invalid-request', `${label} must be an object`, label)
  }
  return members(value, label, [])
}

function look(value: unknown, label: string, trail: (string | number)[]): Data {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : refuse(label, trail, 'must be a finite number')
    case 'object':
      if (value === null) return value
      if (trail.length >= MAX_DEPTH) return refuse(label, trail, 'is nested too deeply')
      return Object.freeze(Array.isArray(value) ? items(value, label, trail) : members(value, label, trail))
    default:
      return refuse(label, trail, `must not be ${typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`}`)
  }
}

function items(value: readonly unknown[], label: string, trail: (string | number)[]): Data[] {
  const copy: Data[] = []
  const length = value.length
  for (let index = 0; index < length; index += 1) {
    trail.push(index)
    copy.push(look(value[index], label, trail))
    trail.pop()
  }
  return copy
}

function members(value: object, label: string, trail: (string | number)[]): Record<string, Data> {
  const copy: Record<string, Data> = {}
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (member === undefined) continue
    trail.push(name)
    const data = look(member, label, trail)
    trail.pop()
    if (name === '__proto__') Object.defineProperty(copy, name, { value: data, enumerable: true })
    else copy[name] = data
  }
  return copy
}

function refuse(label: string, trail: readonly (string | number)[], problem: string): never {
  const path = trail.reduce<string>((path, step) => path + (typeof step === 'number' ? `[${step}]` : `.${step}`), label)
  throw new PresentationTypeError('invalid-request', `${path} ${problem}`, path)
}
