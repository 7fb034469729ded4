/**
 * One invocation of a Host: its scope, its client, and their end (spec: presentation, Request identity and scope; P2, P5).
 *
 * @module
 */

import { markHost } from './binder.ts'
import { presentationClients } from './clients.ts'
import type { PresentationClients, PresentationDescriptor } from './clients.ts'
import { API_VERSION } from './common.ts'
import type {
  PresentationCallOptions, PresentationInvocationScope, PresentationKind, PresentationPermission, PresentationResult,
} from './common.ts'
import type { Asked, Driver } from './driver.ts'
import { PresentationError, PresentationTypeError } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { PresentationInvocation } from './host-api.ts'
import { WIRE_OPERATIONS } from './local-provider.ts'
import type { ApiReference, CapabilityBinding, CapabilityCall, CapabilityClient, ProtocolIssue, ProtocolRequirement, ProtocolSupport } from './model.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'
import { requestLabel, snapshotted } from './validation.ts'

/** A provider that the machine knows. */
export interface ProviderRecord {
  readonly key: number
  readonly participantId: string
  supports: readonly ProtocolSupport[]
  readonly endpointId: string
}

/** What the machine says of an invocation that it opened. */
export interface Opened {
  readonly key: number
  readonly provider: number | null
  readonly contracts: readonly PresentationKind[]
  readonly issues: readonly ProtocolIssue[]
}

/** What the Host knows of it besides. */
export interface InvocationRecord {
  readonly id: string
  readonly origin: string
  readonly deadline: string | undefined
  readonly provider: ProviderRecord | undefined
  readonly requirements: readonly ProtocolRequirement[]
  readonly hostInstance: string
  readonly keyOf: (participantId: string) => number | undefined
}

/** One invocation. */
export class Invocation implements PresentationInvocation {
  readonly invocationId: string
  readonly scope: PresentationInvocationScope
  readonly descriptor: PresentationDescriptor | undefined
  readonly client: CapabilityClient
  readonly clients: PresentationClients | undefined
  readonly issues: readonly ProtocolIssue[]
  readonly #driver: Driver
  readonly #key: number
  readonly #keyOf: (participantId: string) => number | undefined
  readonly #bindings = new Map<string, CapabilityBinding>()
  #ended: PresentationErrorCode | undefined

  constructor(driver: Driver, opened: Opened, record: InvocationRecord) {
    this.#driver = driver
    this.#key = opened.key
    this.#keyOf = record.keyOf
    this.invocationId = record.id
    this.issues = Object.freeze(opened.issues.map(issue => Object.freeze(issue)))
    let serial = 0
    this.scope = Object.freeze({
      invocationId: record.id,
      origin: record.origin,
      ...(record.deadline === undefined ? {} : { deadline: record.deadline }),
      nextRequestId: () => `request-${serial += 1}`,
    })
    const { provider } = record
    if (provider !== undefined) {
      for (const kind of opened.contracts) this.#bindings.set(kind, bindingOf(kind, opened.key, provider, record))
    } else {
      this.#ended = 'provider-unavailable'
    }
    this.client = Object.freeze({
      participantId: record.origin,
      binding: (reference: ApiReference) => (reference.apiVersion === API_VERSION ? this.#bindings.get(reference.kind) : undefined),
      invoke: <Input, Output, Progress>(reference: ApiReference, operation: string, input: Input, options?: PresentationCallOptions) =>
        this.#invoke(reference, operation, input, options) as CapabilityCall<Output, Progress>,
    })
    markHost(this.client)
    if (provider !== undefined) {
      const contracts = [...this.#bindings.values()].map(binding => binding.support)
      this.clients = presentationClients({ clientId: provider.participantId, contracts }, this.client, this.scope)
      this.descriptor = this.clients.descriptor
    }
  }

  get ended(): PresentationErrorCode | undefined {
    return this.#ended
  }

  revoke(...permissions: PresentationPermission[]): void {
    if (this.#ended !== undefined) return
    const remaining = this.#driver.call<readonly string[]>(machine => machine.withdrawPermission(this.#key, permissions))
    for (const kind of this.#bindings.keys()) if (!remaining.includes(kind)) this.#bindings.delete(kind)
  }

  transfer(requestId: string, provider: string): void {
    const entry = this.#driver.find(this.#key, requestId)
    if (entry === undefined) throw new PresentationError('already-settled', 'the presentation request is not pending')
    const to = this.#keyOf(provider)
    if (to === undefined) throw new PresentationError('provider-unavailable', 'the presentation provider is not attached')
    this.#driver.call(machine => machine.transfer(entry.key, to))
  }

  end(): void {
    this.#driver.call(machine => machine.endInvocation(this.#key))
  }

  [Symbol.dispose](): void {
    this.end()
  }

  /** The machine has ended or unbound it. */
  die(code: PresentationErrorCode): void {
    this.#ended = code
    this.#bindings.clear()
  }

  #invoke(
    reference: ApiReference,
    operation: string,
    input: unknown,
    options: PresentationCallOptions | undefined,
  ): CapabilityCall<PresentationResult<never>, DataRecord> {
    const kind = reference.kind as PresentationKind
    if (reference.apiVersion !== API_VERSION || WIRE_OPERATIONS[kind] !== operation) {
      return settledCall(this.invocationId, Promise.reject(new PresentationError('not-negotiated', `${reference.kind} has no operation ${JSON.stringify(operation)}`)))
    }
    const signal = options?.signal
    if (signal?.aborted === true) return settledCall(this.invocationId, Promise.resolve(Object.freeze({ status: 'cancelled' })))
    const known = snapshotted(input)
    const request = (known?.kind === kind ? input : snapshot(input, requestLabel(kind, input))) as DataRecord
    let asked: Asked
    try {
      asked = this.#driver.ask(this.#key, kind, request, known?.text ?? JSON.stringify(request))
    } catch (error) {
      if (error instanceof PresentationTypeError) throw error
      return settledCall(this.invocationId, Promise.reject(error))
    }
    const cancel = (): void => { this.#driver.attempt(machine => machine.cancel(asked.key)) }
    if (signal !== undefined) {
      signal.addEventListener('abort', cancel, { once: true })
      const forget = (): void => { signal.removeEventListener('abort', cancel) }
      asked.result.then(forget, forget)
    }
    return {
      invocationId: this.invocationId,
      result: asked.result,
      get progress() { return asked.progress() },
      cancel,
    }
  }
}

function settledCall(invocationId: string, result: Promise<PresentationResult<never>>): CapabilityCall<PresentationResult<never>, DataRecord> {
  return { invocationId, result, progress: nothing(), cancel: () => {} }
}

// eslint-disable-next-line @typescript-eslint/no-empty-function
async function* nothing(): AsyncGenerator<DataRecord> {}

function bindingOf(kind: PresentationKind, agreement: number, provider: ProviderRecord, record: InvocationRecord): CapabilityBinding {
  const agreementId = `agreement-${agreement}`
  return Object.freeze({
    bindingId: `${agreementId}-${kind}`,
    agreementId,
    planRevision: 1,
    consumer: Object.freeze({
      endpoint: Object.freeze({ id: record.hostInstance, instanceId: record.hostInstance }), participantId: record.origin,
    }),
    provider: Object.freeze({
      endpoint: Object.freeze({ id: provider.endpointId, instanceId: provider.endpointId }), participantId: provider.participantId,
    }),
    requirement: record.requirements.find(requirement => requirement.kind === kind) ?? Object.freeze({ apiVersion: API_VERSION, kind }),
    support: provider.supports.find(support => support.kind === kind) ?? Object.freeze({ apiVersion: API_VERSION, kind }),
  })
}
