/**
 * `ExternalRedirect`: one HTTP redirect received at the user's end (spec: presentation, ExternalRedirect; P8).
 *
 * @module
 */

import { bind, implement, isHost, start } from './binder.ts'
import { API_VERSION } from './common.ts'
import type {
  PresentationCallOptions,
  PresentationInvocationScope,
  PresentationRequestContext,
  PresentationResult,
} from './common.ts'
import { PresentationTypeError } from './errors.ts'
import type { CapabilityClient, CapabilityHandlerContext, CapabilityImplementation, ProtocolDefinition, ProtocolSupport } from './model.ts'
import { defineProtocol, plainSupport } from './protocol.ts'
import type { DataRecord } from './snapshot.ts'
import { checkReady, checkRequest, checkResult } from './validation.ts'

export { API_VERSION }

export const EXTERNAL_REDIRECT_KIND = 'ExternalRedirect'

export interface ExternalRedirectRequest extends PresentationRequestContext {
  readonly mode: 'http-get'
  /** The loopback URI that must be bound and announced verbatim, with an explicit port. */
  readonly exactRedirectUri?: string
}

export interface ExternalRedirectInput {
  readonly mode?: 'http-get'
  readonly exactRedirectUri?: string
}

/** The receiver accepts requests. Use this URI and no other. */
export interface ExternalRedirectReady {
  readonly type: 'ready'
  readonly redirectUri: string
  readonly expiresAt?: string
}

/** Untrusted input: every parameter's values in order. */
export interface ExternalRedirectValue {
  readonly query: Readonly<Record<string, readonly string[]>>
}

export interface ExternalRedirectCall {
  readonly invocationId: string
  /** Rejects when the request ends before a receiver was announced. */
  readonly ready: Promise<ExternalRedirectReady>
  readonly result: Promise<PresentationResult<ExternalRedirectValue>>
  cancel(reason?: string): void
}

export interface ExternalRedirectClient {
  receive(input?: ExternalRedirectInput, options?: PresentationCallOptions): ExternalRedirectCall
}

export interface ExternalRedirectHandler {
  /** Announces its receiver once with `context.progress`, then answers. */
  receive(
    request: ExternalRedirectRequest,
    context: CapabilityHandlerContext<ExternalRedirectReady>,
  ): PresentationResult<ExternalRedirectValue> | Promise<PresentationResult<ExternalRedirectValue>>
}

export const externalRedirectProtocol: ProtocolDefinition<undefined, undefined> = defineProtocol(EXTERNAL_REDIRECT_KIND)
export const externalRedirectSupport: ProtocolSupport = plainSupport(EXTERNAL_REDIRECT_KIND)

/** A typed client over a connection's client. Throws a `TypeError` for an invalid scope. */
export function externalRedirectClient(client: CapabilityClient, scope: PresentationInvocationScope): ExternalRedirectClient {
  const bound = bind(client, scope, EXTERNAL_REDIRECT_KIND, externalRedirectSupport, 'receive')
  return Object.freeze({
    receive(input: ExternalRedirectInput = {}, options?: PresentationCallOptions): ExternalRedirectCall {
      const { request, call } = start<PresentationResult<ExternalRedirectValue>, unknown>(
        bound, { ...input, mode: input.mode ?? 'http-get' }, options,
      )
      const ready = firstReady(call.progress, request)
      // Who looks at the result only is not to be troubled by the announcement that never came.
      ready.catch(() => {})
      return Object.freeze({
        invocationId: call.invocationId,
        ready,
        result: call.result.then(result =>
          isHost(client) ? result : checkResult<ExternalRedirectValue>(EXTERNAL_REDIRECT_KIND, request, result)),
        cancel: (reason?: string) => { call.cancel(reason) },
      })
    },
  })
}

async function firstReady(progress: AsyncIterable<unknown>, request: DataRecord): Promise<ExternalRedirectReady> {
  for await (const value of progress) return checkReady(value, exactOf(request)) as unknown as ExternalRedirectReady
  throw new PresentationTypeError('redirect-not-ready', 'ExternalRedirect provider completed without announcing its redirect URI')
}

function exactOf(request: DataRecord): string | undefined {
  return typeof request.exactRedirectUri === 'string' ? request.exactRedirectUri : undefined
}

/** An implementation over a typed handler. It holds the handler to one announcement, exact, before the result. */
export function externalRedirectImplementation(participantId: string, handler: ExternalRedirectHandler): CapabilityImplementation {
  return implement<ExternalRedirectRequest, ExternalRedirectValue>(participantId, externalRedirectSupport, 'receive',
    async (request, context) => {
      // The Host counts and compares announcements itself.
      if (isHost(context)) return handler.receive(request, context as CapabilityHandlerContext<ExternalRedirectReady>)
      let announced = false
      const guarded = Object.freeze({
        ...context,
        progress(value: ExternalRedirectReady) {
          if (announced) throw new PresentationTypeError('redirect-used', 'ExternalRedirect provider announced more than one ready event')
          const ready = checkReady(value, request.exactRedirectUri)
          announced = true
          ;(context as CapabilityHandlerContext).progress(ready)
        },
      })
      const result = await handler.receive(request, guarded)
      if (result?.status === 'submitted' && !announced) {
        throw new PresentationTypeError('redirect-not-ready', 'ExternalRedirect provider submitted a result before announcing its redirect URI')
      }
      return result
    })
}

/** Throws a `TypeError` unless `value` is an `ExternalRedirectRequest`. */
export function validateExternalRedirectRequest(value: unknown): asserts value is ExternalRedirectRequest {
  checkRequest(EXTERNAL_REDIRECT_KIND, value)
}

/** Throws a `TypeError` unless `value` is an `ExternalRedirectReady`. */
export function validateExternalRedirectReady(value: unknown): asserts value is ExternalRedirectReady {
  checkReady(value)
}

/** A request that any redirect result answers. */
const ANY_REDIRECT: DataRecord = Object.freeze({ requestId: '-', invocationId: '-', origin: '-', mode: 'http-get' })

/** Gives a frozen copy of a result; throws a `TypeError` when it is invalid. */
export function validateExternalRedirectResult(value: unknown): PresentationResult<ExternalRedirectValue> {
  return checkResult<ExternalRedirectValue>(EXTERNAL_REDIRECT_KIND, ANY_REDIRECT, value)
}
