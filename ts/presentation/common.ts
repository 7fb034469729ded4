/**
 * What every presentation request and result has in common (spec: presentation, Common invocation model).
 *
 * @module
 */

/** The version of every presentation protocol. */
export const API_VERSION = 'presentation.dsh/v1alpha1'

/** The context of a request. The Host binds it; a consumer cannot set it. */
export interface PresentationRequestContext {
  /** Unique within the invocation. */
  readonly requestId: string
  /** Opaque reference that the Host issued. */
  readonly invocationId: string
  /** Participant identity of the consumer: to be shown, not to be trusted. */
  readonly origin: string
  /** RFC 3339 date-time after which the request expires. */
  readonly deadline?: string
}

/** The authority of an invocation, given by the Host that creates scoped clients. */
export interface PresentationInvocationScope {
  readonly invocationId: string
  readonly origin: string
  readonly deadline?: string
  /** A fresh request id. */
  nextRequestId(): string
}

/** The one terminal result of a request. */
export type PresentationResult<T> =
  | { readonly status: 'submitted', readonly value: T }
  | { readonly status: 'cancelled' }
  | { readonly status: 'expired' }
  | { readonly status: 'unavailable', readonly reason?: string }

/** The protocol kinds. */
export type PresentationKind = 'OpenExternal' | 'CopyText' | 'Notification' | 'UserInteraction' | 'ExternalRedirect'

/** What a consumer can be permitted to ask for. A kind stands for all its operations. */
export type PresentationPermission = PresentationKind | 'question' | 'approval' | 'secret-input'

/** Options of a call. */
export interface PresentationCallOptions {
  /** Cancels the request. */
  readonly signal?: AbortSignal
}
