/**
 * The structural types of the connection that carries presentation. A value of the reference packages fits them, and so
 * does one of ours; nothing is imported from either.
 *
 * @module
 */

/** Names a protocol. */
export interface ApiReference {
  readonly apiVersion: string
  readonly kind: string
}

/** What a participant requires. */
export interface ProtocolRequirement<Spec = unknown> extends ApiReference {
  readonly optional?: boolean
  readonly spec?: Spec
}

/** What a participant supports. */
export interface ProtocolSupport<Spec = unknown> extends ApiReference {
  readonly spec?: Spec
}

/** Something that a negotiation found wanting. */
export interface ProtocolIssue {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly participant: string
  readonly message: string
}

/** What a catalog gives a definition to negotiate. */
export interface ProtocolNegotiationInput<Requirement = unknown, Support = unknown> {
  readonly requirements: readonly { readonly participant: string, readonly requirement: ProtocolRequirement<Requirement> }[]
  readonly supports: readonly { readonly participant: string, readonly support: ProtocolSupport<Support> }[]
  readonly policy?: unknown
}

/** One consumer bound to one provider. */
export interface AgreedBinding<Requirement = unknown, Support = unknown> {
  readonly consumer: string
  readonly provider: string
  readonly requirement: ProtocolRequirement<Requirement>
  readonly support: ProtocolSupport<Support>
}

/** The agreement of one protocol. */
export interface CapabilityBindings<Requirement = unknown, Support = unknown> {
  readonly kind: 'CapabilityBindings'
  readonly bindings: readonly AgreedBinding<Requirement, Support>[]
}

/** A protocol as a catalog registers it. */
export interface ProtocolDefinition<Requirement = unknown, Support = unknown> extends ApiReference {
  /** Gives the requirement's spec as a frozen copy; throws a `TypeError` when it is invalid. */
  validateRequirement(spec: unknown): Requirement
  /** Gives the support's spec as a frozen copy; throws a `TypeError` when it is invalid. */
  validateSupport(spec: unknown): Support
  /** Binds each requirement to the one participant that supports it. */
  negotiate(input: ProtocolNegotiationInput<Requirement, Support>): {
    readonly agreement?: CapabilityBindings<Requirement, Support>
    readonly issues?: readonly ProtocolIssue[]
  }
}

/** What {@link register} needs of a catalog. */
export interface ProtocolCatalog {
  register(definition: ProtocolDefinition): () => void
}

/** A participant at its endpoint. */
export interface CapabilityParticipant {
  readonly endpoint: { readonly id: string, readonly instanceId: string }
  readonly participantId: string
}

/** A live binding of a connection. */
export interface CapabilityBinding {
  readonly bindingId: string
  readonly agreementId: string
  readonly planRevision: number
  readonly consumer: CapabilityParticipant
  readonly provider: CapabilityParticipant
  readonly requirement: ProtocolRequirement
  readonly support: ProtocolSupport
}

/** A consumer's client on one connection. */
export interface CapabilityClient {
  readonly participantId: string
  /** The live binding of a protocol, if there is one. */
  binding(reference: ApiReference): CapabilityBinding | undefined
  /** Calls the bound provider. */
  invoke<Input, Output, Progress>(
    reference: ApiReference,
    operation: string,
    input: Input,
    options?: { readonly signal?: AbortSignal },
  ): CapabilityCall<Output, Progress>
}

/** One call of a capability. */
export interface CapabilityCall<Output, Progress> {
  readonly invocationId: string
  readonly result: Promise<Output>
  readonly progress: AsyncIterable<Progress>
  cancel(reason?: string): void
}

/** A provider's implementation of one protocol. */
export interface CapabilityImplementation {
  readonly participantId: string
  readonly protocol: ProtocolSupport
  handle(operation: string, input: unknown, context: CapabilityHandlerContext): unknown
}

/** What a handler is given besides its request. */
export interface CapabilityHandlerContext<Progress = unknown> {
  readonly connectionId: string
  readonly planRevision: number
  readonly invocationId: string
  readonly binding: CapabilityBinding
  /** Aborts when the request is no longer the handler's own. */
  readonly signal: AbortSignal
  /** Sends a progress value to the consumer. */
  progress(value: Progress): void
}
