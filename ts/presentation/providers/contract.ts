/**
 * What a provider handles and answers, as the specification gives it. Structural: the handlers of this folder fit
 * the implementation binders of `@dsh-std/presentation`, and any other Host that speaks these shapes.
 *
 * @module
 */

/** Bound by the Host to every request; a consumer cannot override them. */
export interface RequestContext {
  readonly requestId: string
  readonly invocationId: string
  /** Participant identity of the consumer, to be shown. Not a principal: grants nothing. */
  readonly origin: string
  /** RFC 3339 date-time. */
  readonly deadline?: string
}

/** The one terminal result of a request. */
export type PresentationResult<T> =
  | { readonly status: 'submitted', readonly value: T }
  | { readonly status: 'cancelled' }
  | { readonly status: 'expired' }
  | { readonly status: 'unavailable', readonly reason?: string }

/** What a handler needs of its call: a part of the capability handler's context. */
export interface HandlerContext<Progress = unknown> {
  /** Aborts when the request is cancelled, expires, or loses its agreement. */
  readonly signal: AbortSignal
  /** Sends a progress value to the consumer. Only `ExternalRedirect` does. */
  progress(value: Progress): void
  /** Asks, where the Host wants to be asked, whether the request may be shown; `false` when it is over or has moved. */
  present?(): Promise<boolean>
}

/** An answer, at once or later. */
export type Eventually<Value> = PresentationResult<Value> | Promise<PresentationResult<Value>>

export interface Accepted {
  readonly accepted: true
}

export interface OpenExternalRequest extends RequestContext {
  readonly uri: string
}

export interface CopyTextRequest extends RequestContext {
  readonly text: string
  readonly sensitivity?: 'public' | 'private'
}

export interface NotificationRequest extends RequestContext {
  readonly text: string
  readonly level?: 'info' | 'warning' | 'error'
  readonly deduplicationKey?: string
}

interface Field<Kind extends string> {
  readonly id: string
  readonly kind: Kind
  readonly label: string
  readonly description?: string
  readonly required?: boolean
}

export interface TextField extends Field<'text'> {
  readonly multiline?: boolean
  readonly minLength?: number
  readonly maxLength?: number
}

export interface QuestionOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

export interface SelectField extends Field<'select'> {
  readonly multiple?: boolean
  readonly options: readonly QuestionOption[]
}

export type ConfirmField = Field<'confirm'>

export type QuestionField = TextField | SelectField | ConfirmField

export type Answer = string | boolean | readonly string[]

export interface QuestionRequest extends RequestContext {
  readonly kind: 'question'
  readonly title?: string
  readonly description?: string
  readonly fields: readonly QuestionField[]
}

export interface QuestionAnswers {
  readonly answers: Readonly<Record<string, Answer>>
}

export interface ApprovalDetail {
  readonly label: string
  readonly value: string
  readonly sensitivity?: 'public' | 'private'
}

export type Risk = 'low' | 'medium' | 'high'

export interface ApprovalRequest extends RequestContext {
  readonly kind: 'approval'
  readonly action: string
  readonly summary: string
  readonly details?: readonly ApprovalDetail[]
  readonly risk?: Risk
}

export interface ApprovalValue {
  readonly decision: 'approved' | 'denied'
}

export interface SecretInputRequest extends RequestContext {
  readonly kind: 'secret-input'
  readonly label: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
}

export interface SecretInputValue {
  readonly secret: string
}

export type UserInteractionRequest = QuestionRequest | ApprovalRequest | SecretInputRequest

export type UserInteractionValue = QuestionAnswers | ApprovalValue | SecretInputValue

export interface ExternalRedirectRequest extends RequestContext {
  readonly mode: 'http-get'
  readonly exactRedirectUri?: string
}

export interface ExternalRedirectReady {
  readonly type: 'ready'
  readonly redirectUri: string
  readonly expiresAt?: string
}

export interface ExternalRedirectValue {
  readonly query: Readonly<Record<string, readonly string[]>>
}

export interface OpenExternalHandler {
  openExternal(request: OpenExternalRequest, context: HandlerContext): Eventually<Accepted>
}

export interface CopyTextHandler {
  copyText(request: CopyTextRequest, context: HandlerContext): Eventually<Accepted>
}

export interface NotificationHandler {
  notify(request: NotificationRequest, context: HandlerContext): Eventually<Accepted>
}

export interface UserInteractionHandler {
  interact(request: QuestionRequest, context: HandlerContext): Eventually<QuestionAnswers>
  interact(request: ApprovalRequest, context: HandlerContext): Eventually<ApprovalValue>
  interact(request: SecretInputRequest, context: HandlerContext): Eventually<SecretInputValue>
}

export interface ExternalRedirectHandler {
  receive(request: ExternalRedirectRequest, context: HandlerContext<ExternalRedirectReady>): Eventually<ExternalRedirectValue>
}

/** All five kinds in one object, which fits the implementation binder of each. */
export interface Provider extends
  OpenExternalHandler, CopyTextHandler, NotificationHandler, UserInteractionHandler, ExternalRedirectHandler {}

/** An `interact` that answers each request with the value of its kind, which overloads cannot be told. */
export type AnyInteract = (
  request: UserInteractionRequest,
  context: HandlerContext,
) => Promise<PresentationResult<UserInteractionValue>>

/** The result of a request that this provider cannot serve. `reason` is a stable code. */
export function unavailable(reason: string): PresentationResult<never> {
  return Object.freeze({ status: 'unavailable', reason })
}

/** The result that carries a value. The value must be frozen already. */
export function submitted<T>(value: T): PresentationResult<T> {
  return Object.freeze({ status: 'submitted', value })
}

export const CANCELLED: PresentationResult<never> = Object.freeze({ status: 'cancelled' })

export const EXPIRED: PresentationResult<never> = Object.freeze({ status: 'expired' })

/** The result of a request that asks for no answer. */
export const ACCEPTED: PresentationResult<Accepted> = submitted(Object.freeze({ accepted: true }))
