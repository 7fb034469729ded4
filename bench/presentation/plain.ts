/**
 * The same Host in plain TypeScript, as one would write it without the core: a snapshot, hand-written validators, an
 * in-memory state machine with digest, limits, deadline and single settlement. For comparison only.
 */

import { createHash, randomUUID } from 'node:crypto'

type Data = null | boolean | number | string | readonly Data[] | { readonly [name: string]: Data }
type Fields = { readonly [name: string]: Data }

function copy(value: unknown, depth = 0): Data {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || depth > 16) throw new TypeError('no data')
  if (Array.isArray(value)) return Object.freeze(value.map(item => copy(item, depth + 1)))
  const record: Record<string, Data> = {}
  for (const name of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) record[name] = copy(member, depth + 1)
  }
  return Object.freeze(record)
}

function exact(value: Data | undefined, allowed: readonly string[], required: readonly string[], label: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError(`${label} must be an object`)
  const record = value as Fields
  for (const name of Object.keys(record)) if (!allowed.includes(name)) throw new TypeError(`${label} contains unknown field ${JSON.stringify(name)}`)
  for (const name of required) if (!Object.hasOwn(record, name)) throw new TypeError(`${label}.${name} is required`)
  return record
}

const LIMIT = 65_536

function text(value: Data | undefined, label: string): void {
  if (typeof value !== 'string' || value.trim() === '') throw new TypeError(`${label} must be a non-empty string`)
  if (!value.isWellFormed()) throw new TypeError(`${label} must not contain an unpaired surrogate`)
  if (value.length > LIMIT) throw new TypeError(`${label} is too long`)
}

function shown(value: Data | undefined, label: string): void {
  if (value === undefined) return
  text(value, label)
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u206f]/u.test(value as string)) throw new TypeError(`${label} has control characters`)
}

function optional(value: Data | undefined, type: string, label: string): void {
  if (value !== undefined && typeof value !== type) throw new TypeError(`${label} must be ${type}`)
}

const ID = /^[A-Za-z][A-Za-z0-9._-]*$/u

function validateQuestion(value: Data): Fields {
  const request = exact(value, ['requestId', 'invocationId', 'origin', 'deadline', 'kind', 'title', 'description', 'fields'],
    ['requestId', 'invocationId', 'origin', 'kind', 'fields'], 'Question request')
  for (const name of ['requestId', 'invocationId', 'origin']) text(request[name], `Question request.${name}`)
  shown(request.title, 'Question request.title')
  shown(request.description, 'Question request.description')
  const fields = request.fields as readonly Data[]
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > 64) throw new TypeError('Question request.fields must be a non-empty array')
  const ids = new Set<string>()
  for (const [index, item] of fields.entries()) {
    const label = `Question request.fields[${index}]`
    const kind = (item as Fields).kind
    const common = ['id', 'kind', 'label', 'description', 'required']
    const allowed = kind === 'text' ? [...common, 'multiline', 'minLength', 'maxLength'] : kind === 'select' ? [...common, 'multiple', 'options'] : common
    const field = exact(item, allowed, ['id', 'kind', 'label'], label)
    if (!ID.test(field.id as string) || ids.has(field.id as string)) throw new TypeError(`${label}.id is invalid`)
    ids.add(field.id as string)
    shown(field.label, `${label}.label`)
    shown(field.description, `${label}.description`)
    optional(field.required, 'boolean', `${label}.required`)
    if (kind === 'text') {
      optional(field.multiline, 'boolean', `${label}.multiline`)
      for (const bound of [field.minLength, field.maxLength]) {
        if (bound !== undefined && !Number.isSafeInteger(bound)) throw new TypeError(`${label} has an invalid bound`)
      }
    } else if (kind === 'select') {
      optional(field.multiple, 'boolean', `${label}.multiple`)
      const options = field.options as readonly Data[]
      if (!Array.isArray(options) || options.length === 0) throw new TypeError(`${label}.options must be a non-empty array`)
      const seen = new Set<string>()
      for (const [place, entry] of options.entries()) {
        const option = exact(entry, ['id', 'label', 'description'], ['id', 'label'], `${label}.options[${place}]`)
        if (!ID.test(option.id as string) || seen.has(option.id as string)) throw new TypeError(`${label}.options[${place}].id is invalid`)
        seen.add(option.id as string)
        shown(option.label, `${label}.options[${place}].label`)
        shown(option.description, `${label}.options[${place}].description`)
      }
    } else if (kind !== 'confirm') throw new TypeError(`${label}.kind is invalid`)
  }
  return request
}

function validateAnswers(request: Fields, value: Data): Data {
  const result = exact(value, ['status', 'value'], ['status'], 'Question result')
  if (result.status !== 'submitted') return value
  const answers = exact(exact(result.value, ['answers'], ['answers'], 'Question answers').answers,
    (request.fields as readonly Fields[]).map(field => field.id as string), [], 'Question answers.answers')
  for (const field of request.fields as readonly Fields[]) {
    const answer = answers[field.id as string]
    const label = `Question answers.answers.${field.id as string}`
    if (answer === undefined) {
      if (field.required === true) throw new TypeError(`${label} is required`)
    } else if (field.kind === 'text') {
      if (typeof answer !== 'string' || answer.length > LIMIT) throw new TypeError(`${label} must be a string`)
      if (answer.length < ((field.minLength as number) ?? 0) || answer.length > ((field.maxLength as number) ?? LIMIT)) throw new TypeError(`${label} has the wrong length`)
    } else if (field.kind === 'confirm') {
      if (typeof answer !== 'boolean') throw new TypeError(`${label} must be boolean`)
    } else {
      const ids = new Set((field.options as readonly Fields[]).map(option => option.id))
      const selected = field.multiple === true ? answer as readonly Data[] : [answer]
      if (!Array.isArray(selected) || selected.some(id => !ids.has(id as string))) throw new TypeError(`${label} contains an invalid option`)
    }
  }
  return value
}

/** Keys in order, so that the same payload has the same digest. */
function canonical(value: Data): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const record = value as Fields
  return `{${Object.keys(record).sort().map(name => `${JSON.stringify(name)}:${canonical(record[name]!)}`).join(',')}}`
}

interface Pending {
  readonly request: Fields
  readonly resolve: (result: Data) => void
  readonly reject: (error: unknown) => void
  readonly timer: NodeJS.Timeout
}

/** An invocation with one provider. */
export class PlainHost {
  readonly #handler: (request: unknown) => Promise<unknown>
  readonly #invocationId = randomUUID()
  readonly #used = new Map<string, string>()
  readonly #pending = new Map<string, Pending>()
  #serial = 0

  constructor(handler: (request: unknown) => Promise<unknown>) {
    this.#handler = handler
  }

  async interact(input: object): Promise<Data> {
    const requestId = `request-${this.#serial += 1}`
    const request = validateQuestion(copy({ ...input, requestId, invocationId: this.#invocationId, origin: 'plugin' }))
    const digest = createHash('sha256').update(canonical(request)).digest('base64')
    if (this.#used.has(requestId)) throw new Error('request-conflict')
    this.#used.set(requestId, digest)
    if (this.#pending.size >= 8) throw new Error('queue-limit')
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => { this.#settle(requestId, Object.freeze({ status: 'expired' })) }, 1_800_000)
      this.#pending.set(requestId, { request, resolve, reject, timer })
      this.#handler(request).then(result => { this.#submit(requestId, result) }, error => { this.#fail(requestId, error) })
    })
  }

  #submit(requestId: string, result: unknown): void {
    const pending = this.#pending.get(requestId)
    if (pending === undefined) return
    try {
      this.#settle(requestId, validateAnswers(pending.request, copy(result)))
    } catch (error) {
      this.#fail(requestId, error)
    }
  }

  #settle(requestId: string, result: Data): void {
    const pending = this.#take(requestId)
    pending?.resolve(result)
  }

  #fail(requestId: string, error: unknown): void {
    this.#take(requestId)?.reject(error)
  }

  #take(requestId: string): Pending | undefined {
    const pending = this.#pending.get(requestId)
    this.#pending.delete(requestId)
    clearTimeout(pending?.timer)
    return pending
  }
}
