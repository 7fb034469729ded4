/**
 * Binds typed clients to a connection and typed handlers to implementations. Over a Host of ours, which validates every
 * request and result itself, nothing is validated twice.
 *
 * @module
 */

import type { PresentationCallOptions, PresentationInvocationScope, PresentationKind, PresentationResult } from './common.ts'
import { PresentationTypeError } from './errors.ts'
import type { ApiReference, CapabilityCall, CapabilityClient, CapabilityHandlerContext, CapabilityImplementation, ProtocolSupport } from './model.ts'
import type { DataRecord } from './snapshot.ts'
import type { BoundScope } from './validation.ts'
import { checkRequest, checkResult, checkScope, trust, withContext } from './validation.ts'

/** Clients and contexts of Hosts of ours. */
const hosts = new WeakSet<object>()

/** Marks a client or context whose Host validates what passes through it. */
export function markHost(value: object): void {
  hosts.add(value)
}

/** Whether the Host behind a client or context validates. */
export function isHost(value: object): boolean {
  return hosts.has(value)
}

/** What a client is bound to. */
export interface Bound {
  readonly client: CapabilityClient
  readonly scope: BoundScope
  readonly kind: PresentationKind
  readonly reference: ApiReference
  readonly operation: string
}

/** Binds a kind to a client and a scope. Throws a `TypeError` for an invalid scope. */
export function bind(
  client: CapabilityClient,
  scope: PresentationInvocationScope,
  kind: PresentationKind,
  reference: ApiReference,
  operation: string,
): Bound {
  return { client, scope: checkScope(scope), kind, reference, operation }
}

/** Starts a call: the request with its context, validated, and the connection's call. */
export function start<Output, Progress>(
  bound: Bound,
  input: unknown,
  options: PresentationCallOptions | undefined,
): { readonly request: DataRecord, readonly call: CapabilityCall<Output, Progress> } {
  const bare = withContext(bound.kind, bound.scope, input)
  let request = bare
  if (isHost(bound.client)) trust(bare, bound.kind, JSON.stringify(bare))
  else request = checkRequest(bound.kind, bare)
  const call = bound.client.invoke<DataRecord, Output, Progress>(bound.reference, bound.operation, request, options)
  return { request, call }
}

/** Makes a call and gives its validated, deep-frozen result. */
export async function ask<T>(bound: Bound, input: unknown, options: PresentationCallOptions | undefined): Promise<PresentationResult<T>> {
  const { request, call } = start<PresentationResult<T>, never>(bound, input, options)
  const result = await call.result
  return isHost(bound.client) ? result : checkResult<T>(bound.kind, request, result)
}

/** An implementation of one operation. It validates the request and its own handler's result. */
export function implement<Request, Value>(
  participantId: string,
  protocol: ProtocolSupport,
  operation: string,
  handle: (request: Request, context: CapabilityHandlerContext<never>) => PresentationResult<Value> | Promise<PresentationResult<Value>>,
  carries: (request: DataRecord) => void = () => {},
): CapabilityImplementation {
  const kind = protocol.kind as PresentationKind
  return Object.freeze({
    participantId,
    protocol,
    async handle(name: string, input: unknown, context: CapabilityHandlerContext<never>) {
      if (name !== operation) {
        throw new PresentationTypeError('not-negotiated', `unsupported ${kind} operation ${JSON.stringify(name)}`)
      }
      const request = checkRequest(kind, input)
      carries(request)
      const result = await handle(request as Request, context)
      return isHost(context) ? result : checkResult<Value>(kind, request, result)
    },
  })
}
