/**
 * What the providers of this folder have in common: the shape of their handlers, and results. The requests and values
 * are those of the protocols.
 *
 * @module
 */

import type { ExternalRedirectReady, ExternalRedirectRequest, ExternalRedirectValue } from '../callback.ts'
import type { PresentationResult } from '../common.ts'
import type {
  ApprovalRequest,
  ApprovalValue,
  QuestionAnswers,
  QuestionRequest,
  SecretInputRequest,
  SecretInputValue,
  UserInteractionRequest,
  UserInteractionValue,
} from '../interaction.ts'
import type { PresentationHandlerContext } from '../local-provider.ts'
import type { CapabilityHandlerContext } from '../model.ts'
import type {
  CopyTextReceipt,
  CopyTextRequest,
  NotificationReceipt,
  NotificationRequest,
  OpenExternalReceipt,
  OpenExternalRequest,
} from '../operations.ts'

/** What these handlers need of their call, so that any Host's context fits: `present` is there where a Host can be asked. */
export interface HandlerContext<Progress = unknown>
  extends Pick<CapabilityHandlerContext<Progress>, 'signal' | 'progress'>, Partial<Pick<PresentationHandlerContext, 'present'>> {}

/** A result, at once or later. */
export type Eventually<Value> = PresentationResult<Value> | Promise<PresentationResult<Value>>

/** All five kinds in one object, which fits the implementation binder of each. */
export interface Provider {
  openExternal(request: OpenExternalRequest, context: HandlerContext): Eventually<OpenExternalReceipt>
  copyText(request: CopyTextRequest, context: HandlerContext): Eventually<CopyTextReceipt>
  notify(request: NotificationRequest, context: HandlerContext): Eventually<NotificationReceipt>
  interact(request: QuestionRequest, context: HandlerContext): Eventually<QuestionAnswers>
  interact(request: ApprovalRequest, context: HandlerContext): Eventually<ApprovalValue>
  interact(request: SecretInputRequest, context: HandlerContext): Eventually<SecretInputValue>
  receive(request: ExternalRedirectRequest, context: HandlerContext<ExternalRedirectReady>): Eventually<ExternalRedirectValue>
}

/** The value of a request that asks for no answer. */
export type Receipt = OpenExternalReceipt & CopyTextReceipt & NotificationReceipt

/** The answer to one field of a question. */
export type Answer = QuestionAnswers['answers'][string]

/** The risk that an approval states. */
export type Risk = NonNullable<ApprovalRequest['risk']>

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
export const ACCEPTED: PresentationResult<Receipt> = submitted(Object.freeze({ accepted: true }))
