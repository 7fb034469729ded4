/**
 * The Host of presentation: issues invocations, binds each to exactly one provider, and sees every request to its one
 * terminal result (spec: presentation; P2-P7, P9, P10). The rules are Rust's; this is their face.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import type { AttachPort, HostAttachOptions, PresentationAttachment } from './attach-api.ts'
import { API_VERSION } from './common.ts'
import type { PresentationKind, PresentationPermission } from './common.ts'
import { Driver } from './driver.ts'
import type { Entry } from './driver.ts'
import { PresentationError, PresentationTypeError } from './errors.ts'
import type { PresentationErrorCode } from './errors.ts'
import type {
  ConsumerLease, OpenInvocationOptions, PresentationHost, PresentationHostOptions, PresentationInvocation, PresentationObservation,
  PresentationPolicy, PresentationRequestInfo, ProvideOptions, ProviderLease,
} from './host-api.ts'
import { connectPort } from './host-end.ts'
import { Invocation } from './invocation.ts'
import type { Opened, ProviderRecord } from './invocation.ts'
import { LocalProvider, byKind } from './local-provider.ts'
import type { PresentationHandlerContext } from './local-provider.ts'
import type { CapabilityBinding, CapabilityImplementation, ProtocolRequirement, ProtocolSupport } from './model.ts'
import type { Offer, ProviderPort } from './offer.ts'
import { snapshot } from './snapshot.ts'

export type * from './host-api.ts'
export type { AttachPort, HostAttachOptions, PresentationAttachment, PresentationHandlerContext }

/** Makes a Host. Throws a `TypeError` that names the invalid option. */
export function createPresentationHost(options: PresentationHostOptions = {}): PresentationHost {
  return new Host(options)
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
