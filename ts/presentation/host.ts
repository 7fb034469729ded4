/**
 * The Host of presentation: issues invocations, binds each to exactly one provider, and sees every request to its one
 * terminal result (spec: presentation; P2-P7, P9, P10). The rules are Rust's; this is their face.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { connectPort } from './attach.ts'
import type { AttachPort, HostAttachOptions, PresentationAttachment } from './attach.ts'
import { markHost } from './binder.ts'
import { presentationClients } from './clients.ts'
import type { PresentationClients, PresentationDescriptor } from './clients.ts'
import { API_VERSION } from './common.ts'
import type {
  PresentationCallOptions, PresentationInvocationScope, PresentationKind, PresentationPermission, PresentationResult,
} from './common.ts'
import { Driver } from './driver.ts'
import type { Asked, Entry } from './driver.ts'
import { PresentationError, PresentationTypeError } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { UserInteractionLimits } from './interaction.ts'
import { LocalProvider, WIRE_OPERATIONS, byKind } from './local-provider.ts'
import type { PresentationHandlerContext } from './local-provider.ts'
import type {
  ApiReference, CapabilityBinding, CapabilityCall, CapabilityClient, CapabilityImplementation, ProtocolIssue,
  ProtocolRequirement, ProtocolSupport,
} from './model.ts'
import type { Offer, ProviderPort } from './offer.ts'
import type { DataRecord } from './snapshot.ts'
import { snapshot } from './snapshot.ts'
import { requestLabel, snapshotted } from './validation.ts'

export type { AttachPort, HostAttachOptions, PresentationAttachment, PresentationHandlerContext }

/** Bounds of the product; every one has a finite default. */
export interface PresentationHostLimits {
  /** Requests that one provider handles at once, for each kind. Default 8. */
  readonly maxConcurrentRequests?: number
  /** Requests that wait for one provider, for each kind. Default 32; 0 refuses instead of waiting. */
  readonly maxQueuedRequests?: number
  /** Fields of a question, details of an approval. Default 64. */
  readonly maxFields?: number
  /** Default 256. */
  readonly maxOptionsPerField?: number
  /** UTF-16 code units of each text. Default 65536. */
  readonly maxTextLength?: number
  /** UTF-8 bytes of one request's JSON. Default 1 MiB. */
  readonly maxRequestBytes?: number
  /** Default 4096. */
  readonly maxRequestsPerInvocation?: number
  /** Milliseconds after which a request expires, whatever the invocation's deadline. Default 30 minutes. */
  readonly maxRequestMs?: number
}

/** Which providers serve a consumer, best first. The first rule that matches the consumer decides. */
export interface PresentationBindingRule {
  /** Absent: every consumer. */
  readonly consumer?: string
  readonly providers: readonly string[]
}

/** A request, for those who decide about it or watch it. It carries no content. */
export interface PresentationRequestInfo {
  readonly requestId: string
  readonly invocationId: string
  readonly origin: string
  readonly operation: string
}

/** What the Host decides. Nothing is ever decided by the order in which providers came. */
export interface PresentationPolicy {
  /** Without a matching rule the only provider that can serve the consumer is bound, and two are an ambiguity. */
  readonly bind?: readonly PresentationBindingRule[]
  /** Whether a consumer may ask for an operation. Default: whatever its requirements name. */
  readonly permit?: (consumer: string, operation: PresentationPermission) => boolean
  /** Who takes over a request that its provider gave back; without an answer it ends as unavailable. */
  readonly reassign?: (request: PresentationRequestInfo, from: string) => string | undefined
}

export interface PresentationHostOptions {
  readonly policy?: PresentationPolicy
  readonly limits?: PresentationHostLimits
  /**
   * What becomes of control and bidirectional override characters in shown texts: made visible (`reveal`, the default)
   * or refused. Clipboard texts and URIs are refused either way, since they cannot be rewritten.
   */
  readonly text?: 'reveal' | 'refuse'
  /** Told of a provider that broke the protocol. The error carries no content of a request or an answer. */
  readonly onProviderError?: (error: unknown, provider: string, request: PresentationRequestInfo) => void
}

export interface ProvideOptions {
  /** The connection's own limits. */
  readonly limits?: UserInteractionLimits
  /** `explicit` providers ask with `context.present()` before they show a request, so that unshown ones can still move. */
  readonly presenting?: 'on-offer' | 'explicit'
}

/** A provider's publication. */
export interface ProviderLease extends Disposable {
  readonly participantId: string
  /** Replaces the implementations: agreements are void, what is pending is cancelled. */
  update(implementations: readonly CapabilityImplementation[]): void
  /** Ends in good order: what is pending is cancelled. */
  end(): void
  /** The endpoint is gone: what was shown is cancelled, what was not is unavailable. */
  lost(): void
}

/** A consumer's admission. */
export interface ConsumerLease extends Disposable {
  readonly participantId: string
  /** Replaces the requirements: agreements are void, what is pending is cancelled. */
  update(requirements: readonly ProtocolRequirement[]): void
  /** What is pending is cancelled, its invocations end. */
  stop(): void
}

export interface OpenInvocationOptions {
  /** RFC 3339 date-time, or milliseconds from now. */
  readonly deadline?: string | number
  /** What it may ask for; default what policy permits. */
  readonly permissions?: readonly PresentationPermission[]
  /** The provider, over every rule. */
  readonly provider?: string
}

/** One invocation: the only source of the right to ask. */
export interface PresentationInvocation extends Disposable {
  readonly invocationId: string
  readonly scope: PresentationInvocationScope
  /** Absent when no provider is bound. */
  readonly descriptor: PresentationDescriptor | undefined
  /** A capability client for foreign binders. */
  readonly client: CapabilityClient
  /** Typed clients; absent when no provider is bound. They die with the invocation, the agreement, the endpoint or the permission. */
  readonly clients: PresentationClients | undefined
  /** What binding found wanting. */
  readonly issues: readonly ProtocolIssue[]
  /** Why nothing can be asked any more, once that is so. */
  readonly ended: PresentationErrorCode | undefined
  /** Withdraws permissions: what is pending of them is cancelled. */
  revoke(...permissions: PresentationPermission[]): void
  /** Moves a request that is not shown, or was given back, to another provider. Throws a {@link PresentationError}. */
  transfer(requestId: string, provider: string): void
  /** Ends it: what is pending is cancelled. */
  end(): void
}

/** A state that an observer sees. Observers read only. */
export interface PresentationObservation extends PresentationRequestInfo {
  readonly state: 'offered' | 'presented' | 'released' | 'submitted' | 'cancelled' | 'expired' | 'unavailable' | 'failed'
  readonly provider?: string
}

export interface PresentationHost extends Disposable {
  /** Publishes a provider of this process. Throws a `TypeError`. */
  provide(participantId: string, implementations: readonly CapabilityImplementation[], options?: ProvideOptions): ProviderLease
  /** Publishes a provider at the other end of a channel, where {@link attach} serves it. Resolves when it is attached. */
  attach(port: AttachPort, options: HostAttachOptions): Promise<PresentationAttachment>
  /** Admits a consumer. Requirements of other protocols are passed over. Throws a `TypeError`. */
  admit(participantId: string, requirements: readonly ProtocolRequirement[]): ConsumerLease
  /** Opens an invocation for an admitted consumer. Throws a {@link PresentationError} or a `TypeError`. */
  open(consumer: ConsumerLease, options?: OpenInvocationOptions): PresentationInvocation
  /** Watches states; gives the function that stops it. */
  observe(listener: (observation: PresentationObservation) => void): () => void
  /** Ends every consumer and provider. */
  close(): void
}

/** Makes a Host. Throws a `TypeError` that names the invalid option. */
export function createPresentationHost(options: PresentationHostOptions = {}): PresentationHost {
  return new Host(options)
}

interface ProviderRecord {
  readonly key: number
  readonly participantId: string
  supports: readonly ProtocolSupport[]
  readonly endpointId: string
}

interface Opened {
  readonly key: number
  readonly provider: number | null
  readonly contracts: readonly PresentationKind[]
  readonly issues: readonly ProtocolIssue[]
}

const OPERATIONS: Readonly<Record<PresentationKind, readonly PresentationPermission[]>> = {
  OpenExternal: ['OpenExternal'],
  CopyText: ['CopyText'],
  Notification: ['Notification'],
  UserInteraction: ['question', 'approval', 'secret-input'],
  ExternalRedirect: ['ExternalRedirect'],
}

class Host implements PresentationHost {
  readonly #driver: Driver
  readonly #policy: PresentationPolicy
  readonly #onProviderError: PresentationHostOptions['onProviderError']
  readonly #providers = new Map<number, ProviderRecord>()
  readonly #consumers = new Map<ConsumerLease, { readonly key: number, requirements: readonly ProtocolRequirement[] }>()
  readonly #invocations = new Map<number, Invocation>()
  readonly #observers = new Set<(observation: PresentationObservation) => void>()
  readonly #attachments = new Set<PresentationAttachment>()
  readonly #instanceId = randomUUID()

  constructor(options: PresentationHostOptions) {
    const { policy = {}, limits, text, onProviderError } = options
    this.#policy = policy
    this.#onProviderError = onProviderError
    const config = JSON.stringify(snapshot({ limits, text, rules: policy.bind }, 'Presentation host options'))
    this.#driver = new Driver(config, {
      reassign: (entry, from) => this.#reassign(entry, from),
      unbound: (invocation, code) => { this.#unbound(invocation, code) },
      report: (error, provider, entry) => {
        this.#onProviderError?.(error, this.#providers.get(provider)?.participantId ?? '', infoOf(entry))
      },
      observe: (entry, state, provider) => {
        if (this.#observers.size === 0) return
        const participantId = provider === undefined ? undefined : this.#providers.get(provider)?.participantId
        const observation = Object.freeze({ ...infoOf(entry), state, ...(participantId === undefined ? {} : { provider: participantId }) })
        for (const observer of this.#observers) observer(observation)
      },
    })
  }

  provide(participantId: string, implementations: readonly CapabilityImplementation[], options: ProvideOptions = {}): ProviderLease {
    const found = byKind(implementations)
    const port = new LocalProvider(found, offer => this.#bindingOf(offer))
    const supports = [...found.values()].map(implementation => supportOf(implementation))
    const record = this.publish(participantId, supports, port, this.#instanceId, options)
    const leave = (how: 'lease-ended' | 'lost') => { this.withdraw(record, how) }
    return Object.freeze({
      participantId,
      update: (implementations: readonly CapabilityImplementation[]) => {
        const found = byKind(implementations)
        const supports = [...found.values()].map(implementation => supportOf(implementation))
        this.#driver.call(machine => machine.updateProvider(record.key, JSON.stringify(supports)))
        port.implementations = found
        record.supports = supports
      },
      end: () => { leave('lease-ended') },
      lost: () => { leave('lost') },
      [Symbol.dispose]: () => { leave('lease-ended') },
    })
  }

  /** Attaches a provider behind any port. For attachments. */
  publish(
    participantId: string,
    supports: readonly ProtocolSupport[],
    port: ProviderPort,
    endpointId: string,
    options: ProvideOptions,
  ): ProviderRecord {
    const limits = options.limits === undefined
      ? undefined
      : JSON.stringify(snapshot(options.limits, 'Presentation connection limits'))
    const id = identity('Presentation provider', participantId)
    const key = this.#driver.call<number>(machine =>
      machine.attachProvider(id, JSON.stringify(supports), limits, options.presenting ?? 'on-offer'))
    const record = { key, participantId: id, supports, endpointId }
    this.#providers.set(key, record)
    this.#driver.connect(key, port)
    return record
  }

  /** Detaches a provider. For attachments. */
  withdraw(record: ProviderRecord, how: 'lease-ended' | 'lost'): void {
    if (!this.#providers.has(record.key)) return
    this.#driver.call(machine => machine.detachProvider(record.key, how))
    this.#driver.disconnect(record.key)
    this.#providers.delete(record.key)
  }

  async attach(port: AttachPort, options: HostAttachOptions): Promise<PresentationAttachment> {
    const attachment = await connectPort(port, options, {
      publish: (supports, offers) =>
        this.publish(options.participantId, supports, offers, randomUUID(), {
          presenting: 'explicit', ...(options.limits === undefined ? {} : { limits: options.limits }),
        }),
      withdraw: (record, how) => { this.withdraw(record, how) },
    })
    this.#attachments.add(attachment)
    void attachment.closed.then(() => this.#attachments.delete(attachment))
    return attachment
  }

  admit(participantId: string, requirements: readonly ProtocolRequirement[]): ConsumerLease {
    const id = identity('Presentation consumer', participantId)
    const own = ownRequirements(requirements)
    const key = this.#driver.call<number>(machine => machine.admitConsumer(id, JSON.stringify(own)))
    const record = { key, requirements: own }
    const stop = (): void => {
      if (!this.#consumers.delete(lease)) return
      this.#driver.call(machine => machine.stopConsumer(key))
    }
    const lease: ConsumerLease = Object.freeze({
      participantId: id,
      update: (requirements: readonly ProtocolRequirement[]) => {
        const own = ownRequirements(requirements)
        this.#driver.call(machine => machine.updateConsumer(key, JSON.stringify(own)))
        record.requirements = own
      },
      stop,
      [Symbol.dispose]: stop,
    })
    this.#consumers.set(lease, record)
    return lease
  }

  open(consumer: ConsumerLease, options: OpenInvocationOptions = {}): PresentationInvocation {
    const record = this.#consumers.get(consumer)
    if (record === undefined) throw new PresentationError('invalid-scope', 'the presentation consumer is not admitted')
    const id = randomUUID()
    const deadline = typeof options.deadline === 'number' ? new Date(Date.now() + options.deadline).toISOString() : options.deadline
    const permissions = this.#permissions(consumer.participantId, options.permissions)
    let invocation: Invocation | undefined
    this.#driver.call<Opened>(
      machine => machine.openInvocation(record.key, id, deadline, permissions, options.provider),
      opened => {
        const provider = opened.provider === null ? undefined : this.#providers.get(opened.provider)
        invocation = new Invocation(this.#driver, opened, {
          id,
          origin: consumer.participantId,
          deadline,
          provider,
          requirements: record.requirements,
          hostInstance: this.#instanceId,
          keyOf: participantId => this.#keyOf(participantId),
        })
        this.#invocations.set(opened.key, invocation)
      },
    )
    return invocation!
  }

  observe(listener: (observation: PresentationObservation) => void): () => void {
    this.#observers.add(listener)
    return () => { this.#observers.delete(listener) }
  }

  close(): void {
    for (const consumer of this.#consumers.keys()) consumer.stop()
    for (const attachment of this.#attachments) attachment.close()
    for (const record of this.#providers.values()) this.withdraw(record, 'lease-ended')
    this.#driver.stop()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #permissions(consumer: string, asked: readonly PresentationPermission[] | undefined): string[] | undefined {
    const { permit } = this.#policy
    if (permit === undefined) return asked === undefined ? undefined : [...asked]
    const wanted = (asked ?? (Object.keys(OPERATIONS) as PresentationKind[]))
      .flatMap(name => OPERATIONS[name as PresentationKind] ?? [name])
    return wanted.filter(operation => permit(consumer, operation))
  }

  #reassign(entry: Entry, from: number): number | undefined {
    const to = this.#policy.reassign?.(infoOf(entry), this.#providers.get(from)?.participantId ?? '')
    return to === undefined ? undefined : this.#keyOf(to)
  }

  #keyOf(participantId: string): number | undefined {
    for (const record of this.#providers.values()) if (record.participantId === participantId) return record.key
    return undefined
  }

  #unbound(key: number, code: PresentationErrorCode): void {
    const invocation = this.#invocations.get(key)
    invocation?.die(code)
    if (code === 'invalid-scope') this.#invocations.delete(key)
  }

  #bindingOf(offer: Offer): CapabilityBinding {
    for (const invocation of this.#invocations.values()) {
      if (invocation.invocationId !== offer.invocationId) continue
      const binding = invocation.client.binding({ apiVersion: API_VERSION, kind: offer.kind })
      if (binding !== undefined) return binding
    }
    throw new PresentationError('not-negotiated', 'the presentation binding is gone')
  }
}

interface InvocationRecord {
  readonly id: string
  readonly origin: string
  readonly deadline: string | undefined
  readonly provider: ProviderRecord | undefined
  readonly requirements: readonly ProtocolRequirement[]
  readonly hostInstance: string
  readonly keyOf: (participantId: string) => number | undefined
}

class Invocation implements PresentationInvocation {
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

function supportOf({ protocol }: CapabilityImplementation): ProtocolSupport {
  const { apiVersion, kind, spec } = protocol
  return snapshot({ apiVersion, kind, spec }, 'Presentation support') as unknown as ProtocolSupport
}

/** The requirements of presentation protocols, as frozen copies. */
function ownRequirements(requirements: readonly ProtocolRequirement[]): readonly ProtocolRequirement[] {
  return requirements
    .filter(requirement => requirement.apiVersion === API_VERSION)
    .map(({ apiVersion, kind, optional, spec }) =>
      snapshot({ apiVersion, kind, optional, spec }, 'Presentation requirement') as unknown as ProtocolRequirement)
}

function identity(subject: string, participantId: unknown): string {
  const path = `${subject}.participantId`
  if (typeof participantId !== 'string' || !participantId.isWellFormed()) {
    throw new PresentationTypeError('invalid-request', `${path} must be a well-formed string`, path)
  }
  return participantId
}

function infoOf(entry: Entry): PresentationRequestInfo {
  const { requestId, invocationId, origin } = entry.request
  return Object.freeze({
    requestId: String(requestId), invocationId: String(invocationId), origin: String(origin), operation: entry.operation,
  })
}
