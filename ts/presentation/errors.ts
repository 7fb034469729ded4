/**
 * Errors with the stable codes of the specification (spec: presentation, Errors; P10).
 *
 * @module
 */

/** The stable code of a presentation error. */
export type PresentationErrorCode =
  | 'not-negotiated' | 'provider-unavailable' | 'invalid-scope' | 'request-conflict' | 'already-settled'
  | 'request-cancelled' | 'request-expired' | 'authority-conflict' | 'invalid-request' | 'redirect-not-ready'
  | 'redirect-address-in-use' | 'redirect-uri-rejected' | 'redirect-used' | 'redirect-revoked' | 'invalid-answer'
  | 'permission-denied' | 'concurrency-limit' | 'queue-limit' | 'size-limit' | 'request-limit'
  | 'provider-disconnected' | 'implementation-failed' | 'malformed-message' | 'message-too-large'
  | 'message-out-of-order' | 'unknown-request' | 'channel-timeout' | 'channel-lost' | 'channel-closed'

/** A request could not be made or was not answered. The message carries no content of the request or its answer. */
export class PresentationError extends Error {
  readonly code: PresentationErrorCode

  constructor(code: PresentationErrorCode, message: string) {
    super(message)
    this.name = 'PresentationError'
    this.code = code
  }
}

/** A value is invalid. Its name stays `TypeError`; `path` says where. */
export class PresentationTypeError extends TypeError {
  readonly code: PresentationErrorCode
  /** For example `Question request.fields[0].id`; empty when no single value is at fault. */
  readonly path: string

  constructor(code: PresentationErrorCode, message: string, path = '') {
    super(message)
    this.code = code
    this.path = path
  }
}

interface NativeError extends Error {
  readonly code: PresentationErrorCode
  readonly path: string
}

function isNative(error: unknown): error is NativeError {
  return error instanceof Error && 'path' in error && typeof error.path === 'string' && 'code' in error
}

/** Turns what the native core throws into a `TypeError`. */
export function typeErrorFrom(error: unknown): unknown {
  return isNative(error) ? new PresentationTypeError(error.code, error.message, error.path) : error
}

/** Turns what the native core throws into an error of its class: a `TypeError` for invalid values. */
export function errorFrom(error: unknown): unknown {
  if (!isNative(error)) return error
  return error.code === 'invalid-request' || error.code === 'invalid-answer'
    ? new PresentationTypeError(error.code, error.message, error.path)
    : new PresentationError(error.code, error.message)
}

/** The stable code of an error, whichever class it is of. */
export function codeOf(error: unknown): PresentationErrorCode | undefined {
  return error instanceof PresentationError || error instanceof PresentationTypeError ? error.code : undefined
}
