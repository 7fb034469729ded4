/**
 * Validation in Rust of what was snapshotted here: one text across, an error back.
 *
 * @module
 */

import {
  validatePresentationReady,
  validatePresentationRequest,
  validatePresentationResult,
  validatePresentationScope,
} from 'dsh-ag-ui/native'
import type { PresentationInvocationScope, PresentationKind, PresentationResult } from './common.ts'
import { PresentationTypeError, typeErrorFrom } from './errors.ts'
import { isRecord } from './plain.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot, snapshotMembers } from './snapshot.ts'

/** A request that was snapshotted here, deep-frozen, and its text. */
export interface Snapshotted {
  readonly kind: PresentationKind
  readonly text: string
}

/** Requests that were validated and are frozen: they need no second look. */
const validated = new WeakMap<object, Snapshotted>()

/** How messages name a request. */
export function requestLabel(kind: PresentationKind, value: unknown): string {
  if (kind !== 'UserInteraction') return `${kind} request`
  if (typeof value !== 'object' || value === null) return 'UserInteraction request'
  switch (Object.getOwnPropertyDescriptor(value, 'kind')?.value) {
    case 'question': return 'Question request'
    case 'approval': return 'Approval request'
    case 'secret-input': return 'SecretInput request'
    default: return 'UserInteraction request'
  }
}

/** The text of a request that {@link checkRequest} gave or {@link trust} took. */
export function snapshotted(request: unknown): Snapshotted | undefined {
  return typeof request === 'object' && request !== null ? validated.get(request) : undefined
}

/** Remembers a frozen request that the Host validates. */
export function trust(request: DataRecord, kind: PresentationKind, text: string): void {
  validated.set(request, { kind, text })
}

/** Validates a request and gives its deep-frozen copy. Throws a `TypeError`. */
export function checkRequest(kind: PresentationKind, value: unknown): DataRecord {
  if (snapshotted(value)?.kind === kind) return value as DataRecord
  const request = snapshot(value, requestLabel(kind, value))
  const text = JSON.stringify(request)
  native(() => { validatePresentationRequest(kind, text) })
  trust(request as DataRecord, kind, text)
  return request as DataRecord
}

/** A result as it crosses: its text, and a secret beside it. */
export interface CrossingResult {
  /** The deep-frozen copy, secret included. */
  readonly value: DataRecord
  /** Its JSON, without the secret. */
  readonly text: string
  readonly secret?: string
}

/** Takes a result apart for crossing. `request` is a validated one. */
export function crossingResult(request: DataRecord, kind: PresentationKind, result: unknown): CrossingResult {
  const label = resultLabel(kind, request)
  if (request.kind !== 'secret-input' || kind !== 'UserInteraction') {
    const value = snapshot(result, label) as DataRecord
    return { value, text: JSON.stringify(value) }
  }
  let value: DataRecord
  try {
    value = snapshot(result, label) as DataRecord
  } catch (error) {
    if (!(error instanceof PresentationTypeError)) throw error
    // A path is made of names, and a name may be the secret, too.
    throw new PresentationTypeError('invalid-answer', `${label} must be plain data`, label)
  }
  const submitted = value?.value
  const secret = isRecord(submitted) ? submitted.secret : undefined
  if (!isRecord(submitted) || typeof secret !== 'string') return { value, text: JSON.stringify(value) }
  if (!secret.isWellFormed()) {
    const path = 'SecretInput value.secret'
    throw new PresentationTypeError('invalid-answer', `${path} must not contain an unpaired surrogate`, path)
  }
  const { secret: _, ...rest } = submitted
  return { value, text: JSON.stringify({ ...value, value: rest }), secret }
}

/** Validates a result against its validated request and gives its deep-frozen copy. Throws a `TypeError`. */
export function checkResult<T>(kind: PresentationKind, request: DataRecord, result: unknown): PresentationResult<T> {
  const crossing = crossingResult(request, kind, result)
  const text = snapshotted(request)?.text ?? JSON.stringify(request)
  native(() => { validatePresentationResult(kind, text, crossing.text, crossing.secret) })
  return crossing.value as unknown as PresentationResult<T>
}

/** Validates a `ready` event, against the exact URI if one was asked for. Throws a `TypeError`. */
export function checkReady(value: unknown, exact?: string): DataRecord {
  const ready = snapshot(value, 'ExternalRedirect ready') as DataRecord
  native(() => { validatePresentationReady(JSON.stringify(ready), exact) })
  return ready
}

/** A scope that was read once. */
export interface BoundScope {
  readonly invocationId: string
  readonly origin: string
  readonly deadline?: string
  nextRequestId(): string
}

const SCOPE = 'Presentation invocation scope'

/** Validates an invocation scope and binds it. Throws a `TypeError`. */
export function checkScope(scope: PresentationInvocationScope): BoundScope {
  if (typeof scope !== 'object' || scope === null) throw new PresentationTypeError('invalid-request', `${SCOPE} must be an object`, SCOPE)
  const { invocationId, origin, deadline } = scope
  const bound = snapshot({ invocationId, origin, deadline }, SCOPE)
  native(() => { validatePresentationScope(JSON.stringify(bound)) })
  if (typeof scope.nextRequestId !== 'function') {
    const path = `${SCOPE}.nextRequestId`
    throw new PresentationTypeError('invalid-request', `${path} must be a function`, path)
  }
  return Object.freeze({ ...(bound as object), nextRequestId: () => scope.nextRequestId() }) as BoundScope
}

/** A consumer's input with the Host's context, which goes over whatever the input says. Frozen, not validated. */
export function withContext(kind: PresentationKind, scope: BoundScope, input: unknown): DataRecord {
  const request = snapshotMembers(input, requestLabel(kind, input))
  // A request id that is no string is refused by validation, with its path.
  request.requestId = snapshot(scope.nextRequestId(), 'Presentation requestId')
  request.invocationId = scope.invocationId
  request.origin = scope.origin
  if (scope.deadline === undefined) delete request.deadline
  else request.deadline = scope.deadline
  return Object.freeze(request)
}

/** Runs a native judgement and turns its error into a `TypeError`. */
export function native<T>(judge: () => T): T {
  try {
    return judge()
  } catch (error) {
    throw typeErrorFrom(error)
  }
}

function resultLabel(kind: PresentationKind, request: DataRecord): string {
  if (kind !== 'UserInteraction') return `${kind} result`
  return request.kind === 'question' ? 'Question result' : request.kind === 'approval' ? 'Approval result' : 'SecretInput result'
}
