/**
 * One-time receivers of an HTTP redirect on the loopback interface (spec: presentation, `ExternalRedirect`; P8). The
 * receiver itself is Rust; this is its typed face and the provider handler on top of it.
 *
 * @module
 */

import { openNativeRedirectReceiver } from 'dsh-ag-ui/native'
import type { ExternalRedirectReady, ExternalRedirectRequest, ExternalRedirectValue } from './callback.ts'
import type { PresentationResult } from './common.ts'
import { epochMs } from './deadline.ts'
import { deepFreeze } from './plain.ts'
import { CANCELLED } from './providers/contract.ts'
import type { HandlerContext, Provider } from './providers/contract.ts'

export type { ExternalRedirectReady, ExternalRedirectRequest, ExternalRedirectValue, PresentationResult }

/** Bounds of one receiver; each a positive integer. */
export interface RedirectLimits {
  /** Longest query in bytes, as sent. Default 16384, at most 61440. */
  readonly maxQueryBytes?: number
  /** Most parameters. Default 256. */
  readonly maxParameters?: number
  /** Longest time to wait in milliseconds, also with a later deadline or none. Default ten minutes, at most a day. */
  readonly maxWaitMs?: number
}

/**
 * How long a receiver keeps the process alive by itself. `until-ready`: while it opens; from then on a process with
 * nothing else to do exits, receivers or not. `until-settled`: also while it waits, for programs whose only business
 * is the redirect.
 */
export type KeepAlive = 'until-ready' | 'until-settled'

export interface RedirectReceiverOptions {
  /**
   * Loopback HTTP URI with an explicit port, bound and announced verbatim. Without it the receiver chooses port and an
   * unguessable path.
   */
  readonly exactRedirectUri?: string
  /** RFC 3339 date-time at which the receiver expires. */
  readonly deadline?: string
  readonly limits?: RedirectLimits
  /** Default `until-ready`. */
  readonly keepAlive?: KeepAlive
}

/** A receiver that accepts one GET of its URI. */
export interface RedirectReceiver {
  /**
   * Settles when the receiver accepts requests; rejects with a {@link RedirectNotReadyError} when it ends before that.
   * A rejection that nobody handles is not reported, since `result` tells the same.
   */
  readonly ready: Promise<ExternalRedirectReady>
  /**
   * Never rejects. By the time it resolves the browser has its page, the path is revoked, and the port is free unless
   * another receiver uses it. `unavailable` has one of the reasons `redirect-address-in-use`, `redirect-uri-rejected`,
   * `redirect-limit-exceeded` (too many receivers), `redirect-listener-failed`.
   */
  readonly result: Promise<PresentationResult<ExternalRedirectValue>>
  /** Revokes the path at once. No effect when a result is committed. The reason is for the caller's own use only. */
  cancel(reason?: string): void
}

/** A receiver ended before it was ready. `code` is the reason of its result, or `redirect-<status>`. */
export class RedirectNotReadyError extends Error {
  override readonly name = 'RedirectNotReadyError'
  readonly code: string

  constructor(result: PresentationResult<ExternalRedirectValue>) {
    const code = result.status === 'unavailable' && result.reason !== undefined
      ? result.reason
      : `redirect-${result.status}`
    super(`The redirect receiver did not open: ${code}`)
    this.code = code
  }
}

type NativeEvent =
  | { readonly type: 'ready', readonly redirectUri: string, readonly expiresAtMs: number }
  | { readonly type: 'ended', readonly result: PresentationResult<ExternalRedirectValue> }

/** Longest delay that Node's timers take. */
const LONGEST_DELAY = 2 ** 31 - 1

/** Native halves of pending receivers. Collecting one as garbage cancels it, even while its result is awaited. */
const pending = new Set<object>()

/**
 * Opens a receiver.
 *
 * @throws TypeError when the deadline is not a date-time or a limit is not a positive integer within its ceiling. A
 * refused `exactRedirectUri` does not throw; it is an `unavailable` result.
 */
export function openRedirectReceiver(options: RedirectReceiverOptions = {}): RedirectReceiver {
  const ready = Promise.withResolvers<ExternalRedirectReady>()
  const result = Promise.withResolvers<PresentationResult<ExternalRedirectValue>>()
  ready.promise.catch(() => {})
  const native = openNative(options, (text) => {
    const event = JSON.parse(text) as NativeEvent
    switch (event.type) {
      case 'ready':
        if (options.keepAlive !== 'until-settled') clearInterval(hold)
        ready.resolve(Object.freeze({
          type: 'ready',
          redirectUri: event.redirectUri,
          expiresAt: new Date(event.expiresAtMs).toISOString(),
        }))
        break
      case 'ended':
        clearInterval(hold)
        pending.delete(native)
        ready.reject(new RedirectNotReadyError(event.result))
        result.resolve(deepFreeze(event.result))
        break
      default:
        event satisfies never
    }
  })
  pending.add(native)
  // The native callback is weak; an interval is what holds the event loop.
  const hold = setInterval(() => {}, LONGEST_DELAY)
  return Object.freeze({
    ready: ready.promise,
    result: result.promise,
    cancel: () => native.cancel(),
  })
}

function openNative(options: RedirectReceiverOptions, onEvent: (text: string) => void): { cancel(): void } {
  const { exactRedirectUri, deadline, limits } = options
  try {
    return openNativeRedirectReceiver({
      ...(exactRedirectUri !== undefined && { exactRedirectUri }),
      ...(deadline !== undefined && { deadlineMs: epochMs(deadline) }),
      ...limits,
    }, onEvent)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'redirect-limit-invalid') {
      throw new TypeError(error.message, { cause: error })
    }
    throw error
  }
}

export interface ExternalRedirectHandlerOptions {
  readonly limits?: RedirectLimits
  /** Default `until-settled`: a pending request is work of the process. */
  readonly keepAlive?: KeepAlive
}

/**
 * The handler of a provider that carries `ExternalRedirect`. Sends exactly one progress value, `ready`, and only when
 * the receiver accepts; revokes the receiver when the call's signal aborts.
 *
 * @throws TypeError when a limit is not a positive integer within its ceiling, at the first request.
 */
export function externalRedirectHandler(options: ExternalRedirectHandlerOptions = {}): Pick<Provider, 'receive'> {
  return Object.freeze({ receive: (request, context) => receive(request, context, options) } satisfies Pick<Provider, 'receive'>)
}

async function receive(
  request: ExternalRedirectRequest,
  context: HandlerContext<ExternalRedirectReady>,
  { limits, keepAlive = 'until-settled' }: ExternalRedirectHandlerOptions,
): Promise<PresentationResult<ExternalRedirectValue>> {
  const { signal } = context
  if (signal.aborted) return CANCELLED
  const { exactRedirectUri, deadline } = request
  const receiver = openRedirectReceiver({
    keepAlive,
    ...(limits !== undefined && { limits }),
    ...(exactRedirectUri !== undefined && { exactRedirectUri }),
    ...(deadline !== undefined && { deadline }),
  })
  const cancel = (): void => receiver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const ready = await receiver.ready.catch(() => undefined)
    if (ready !== undefined && !signal.aborted) context.progress(ready)
    return await receiver.result
  } finally {
    signal.removeEventListener('abort', cancel)
    // Reached with the receiver pending only when `progress` threw: nobody can use the URI.
    receiver.cancel()
  }
}
