/**
 * Rules are checked when the provider is made, so that a mistyped rule is an error and not a refusal at midnight.
 *
 * @module
 */

import { deepFreeze, isRecord } from '../../plain.ts'
import type { PolicyRule } from './rules.ts'

interface Shape {
  readonly decisions: readonly string[]
  /** Lists of patterns; true when the list must be there. */
  readonly lists: Readonly<Record<string, 'required' | 'optional'>>
  /** Other members and what is wrong with a value, if anything. */
  readonly members: Readonly<Record<string, (value: unknown) => string | undefined>>
}

const RISKS = ['low', 'medium', 'high']

const isAnswer = (value: unknown): boolean =>
  typeof value === 'string' || typeof value === 'boolean'
  || (Array.isArray(value) && value.every(item => typeof item === 'string'))

const SHAPES: Readonly<Record<PolicyRule['kind'], Shape>> = {
  'open-external': { decisions: ['allow', 'deny'], lists: { hosts: 'required' }, members: {} },
  'copy-text': {
    decisions: ['allow', 'deny'],
    lists: {},
    members: { maxLength: value => Number.isSafeInteger(value) && Number(value) > 0 ? undefined : 'must be a positive safe integer' },
  },
  'notification': { decisions: ['allow', 'accept', 'deny'], lists: {}, members: {} },
  'external-redirect': { decisions: ['allow', 'deny'], lists: { exactRedirectUris: 'optional' }, members: {} },
  'approval': {
    decisions: ['approve', 'deny', 'ask'],
    lists: { actions: 'required' },
    members: { maxRisk: value => RISKS.includes(value as string) ? undefined : `must be one of ${RISKS.join(', ')}` },
  },
  'question': {
    decisions: ['answer', 'ask', 'deny'],
    lists: { titles: 'optional' },
    members: { answers: value => isRecord(value) && Object.values(value).every(isAnswer) ? undefined : 'must be a record of answers' },
  },
  'secret-input': {
    decisions: ['supply', 'ask', 'deny'],
    lists: { labels: 'required' },
    members: { source: value => typeof value === 'function' ? undefined : 'must be a function' },
  },
}

/** Members that a decision cannot do without. */
const NEEDED: Readonly<Record<string, string>> = { approve: 'maxRisk', answer: 'answers', supply: 'source' }

/** @throws TypeError naming the first thing that is wrong. */
export function validateRules(rules: unknown): readonly PolicyRule[] {
  if (!Array.isArray(rules)) throw new TypeError('rules must be an array')
  return Object.freeze(rules.map((rule, index) => validateRule(rule, `rules[${index}]`)))
}

function validateRule(rule: unknown, path: string): PolicyRule {
  if (!isRecord(rule)) throw new TypeError(`${path} must be an object`)
  const { kind, decision, ...rest } = rule
  if (typeof kind !== 'string' || !Object.hasOwn(SHAPES, kind)) {
    throw new TypeError(`${path}.kind must be one of ${Object.keys(SHAPES).join(', ')}`)
  }
  const { decisions, lists, members } = SHAPES[kind as PolicyRule['kind']]
  if (!decisions.includes(decision as string)) {
    throw new TypeError(`${path}.decision must be one of ${decisions.join(', ')}`)
  }
  const copy: Record<string, unknown> = { kind, decision }
  for (const [name, value] of Object.entries(rest)) {
    if (value === undefined) continue
    if (name === 'origin' || Object.hasOwn(lists, name)) copy[name] = patterns(value, `${path}.${name}`, name)
    else copy[name] = member(members, name, value, path)
  }
  const missing = Object.keys(lists).find(name => lists[name] === 'required' && copy[name] === undefined)
  if (missing !== undefined) throw new TypeError(`${path}.${missing} must be given`)
  const needed = NEEDED[decision as string]
  if (needed !== undefined && copy[needed] === undefined) {
    throw new TypeError(`${path}.${needed} must be given with the decision ${String(decision)}`)
  }
  return Object.freeze(copy) as unknown as PolicyRule
}

function member(members: Shape['members'], name: string, value: unknown, path: string): unknown {
  const check = Object.hasOwn(members, name) ? members[name] : undefined
  if (check === undefined) throw new TypeError(`${path}.${name} is not a member of this kind of rule`)
  const wrong = check(value)
  if (wrong !== undefined) throw new TypeError(`${path}.${name} ${wrong}`)
  return typeof value === 'object' ? deepFreeze(structuredClone(value)) : value
}

/** A star stands at the end; in hosts also as the first label. */
function patterns(value: unknown, path: string, name: string): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || !value.every(item => typeof item === 'string' && item !== '')) {
    throw new TypeError(`${path} must be a non-empty array of non-empty strings`)
  }
  for (const [index, pattern] of (value as string[]).entries()) {
    const rest = name === 'hosts' ? pattern.replace(/^\*\./, '') : pattern
    const star = rest.indexOf('*')
    // `example.*` would fit `example.evil.org`.
    const allowed = star === -1 || (star === rest.length - 1 && (name !== 'hosts' || pattern === '*'))
    if (!allowed) throw new TypeError(`${path}[${index}] has a star where it cannot stand`)
  }
  // Hosts are compared in the spelling of browsers.
  return Object.freeze((value as string[]).map(pattern => name === 'hosts' ? pattern.toLowerCase() : pattern))
}
