/**
 * What a Host takes and gives, as types (spec: presentation, Common invocation model; P2-P6).
 *
 * @module
 */

import type { AttachPort, HostAttachOptions, PresentationAttachment } from './attach-api.ts'
import type { PresentationClients, PresentationDescriptor } from './clients.ts'
import type { PresentationInvocationScope, PresentationPermission } from './common.ts'
import type { PresentationErrorCode } from './errors.ts'
import type { UserInteractionLimits } from './interaction.ts'
import type { CapabilityClient, CapabilityImplementation, ProtocolIssue, ProtocolRequirement } from './model.ts'

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
