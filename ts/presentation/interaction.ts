/**
 * `UserInteraction`: questions, approvals and secret input (spec: presentation, UserInteraction; P9).
 *
 * @module
 */

import { ask, bind, implement } from './binder.ts'
import { API_VERSION } from './common.ts'
import type {
  PresentationCallOptions,
  PresentationInvocationScope,
  PresentationRequestContext,
  PresentationResult,
} from './common.ts'
import { PresentationTypeError } from './errors.ts'
import type { CapabilityClient, CapabilityHandlerContext, CapabilityImplementation, ProtocolDefinition, ProtocolSupport } from './model.ts'
import { checkSpec, defineProtocol, plainSupport } from './protocol.ts'
import { checkRequest } from './validation.ts'

export { API_VERSION }
export type { PresentationCallOptions, PresentationInvocationScope, PresentationRequestContext, PresentationResult }

export const USER_INTERACTION_KIND = 'UserInteraction'

export type UserInteractionOperation = 'question' | 'approval' | 'secret-input'

export interface UserInteractionRequirementSpec {
  /** What the provider must support. */
  readonly operations: readonly UserInteractionOperation[]
  /** What the consumer can do without. */
  readonly optionalOperations?: readonly UserInteractionOperation[]
}

export interface UserInteractionSupportSpec {
  readonly operations: readonly UserInteractionOperation[]
  readonly limits?: UserInteractionLimits
}

/** Positive safe integers. An absent limit is not an infinite one: the connection and the product have their own. */
export interface UserInteractionLimits {
  readonly maxConcurrentRequests?: number
  readonly maxFields?: number
  readonly maxOptionsPerField?: number
  /** In UTF-16 code units. */
  readonly maxTextLength?: number
}

export interface QuestionOption {
  readonly id: string
  readonly label: string
  readonly description?: string
}

interface QuestionFieldBase {
  /** Unique within the request. */
  readonly id: string
  readonly label: string
  readonly description?: string
  readonly required?: boolean
}

/** Answered by a string. Never for passwords, tokens or keys. */
export interface TextQuestionField extends QuestionFieldBase {
  readonly kind: 'text'
  readonly multiline?: boolean
  readonly minLength?: number
  readonly maxLength?: number
}

/** Answered by an option id, or by an array of them. */
export interface SelectQuestionField extends QuestionFieldBase {
  readonly kind: 'select'
  readonly multiple?: boolean
  readonly options: readonly QuestionOption[]
}

/** Answered by a boolean. */
export interface ConfirmQuestionField extends QuestionFieldBase {
  readonly kind: 'confirm'
}

export type QuestionField = TextQuestionField | SelectQuestionField | ConfirmQuestionField

export interface QuestionRequest extends PresentationRequestContext {
  readonly kind: 'question'
  readonly title?: string
  readonly description?: string
  readonly fields: readonly QuestionField[]
}

/** Answers by field id. An optional field that was not answered is absent. */
export interface QuestionAnswers {
  readonly answers: Readonly<Record<string, string | boolean | readonly string[]>>
}

export interface ApprovalDetail {
  readonly label: string
  readonly value: string
  readonly sensitivity?: 'public' | 'private'
}

/** Approves or denies one action of this invocation; it grants nothing beyond. */
export interface ApprovalRequest extends PresentationRequestContext {
  readonly kind: 'approval'
  readonly action: string
  readonly summary: string
  readonly details?: readonly ApprovalDetail[]
  readonly risk?: 'low' | 'medium' | 'high'
}

export interface ApprovalValue {
  readonly decision: 'approved' | 'denied'
}

export interface SecretInputRequest extends PresentationRequestContext {
  readonly kind: 'secret-input'
  readonly label: string
  readonly description?: string
  readonly minLength?: number
  readonly maxLength?: number
}

/** Valid within the invocation only; never to be stored, logged or copied. */
export interface SecretInputValue {
  readonly secret: string
}

export type UserInteractionRequest = QuestionRequest | ApprovalRequest | SecretInputRequest
export type UserInteractionValue = QuestionAnswers | ApprovalValue | SecretInputValue
export type QuestionInput = Omit<QuestionRequest, keyof PresentationRequestContext>
export type ApprovalInput = Omit<ApprovalRequest, keyof PresentationRequestContext>
export type SecretInput = Omit<SecretInputRequest, keyof PresentationRequestContext>

export interface UserInteractionClient {
  interact(input: QuestionInput, options?: PresentationCallOptions): Promise<PresentationResult<QuestionAnswers>>
  interact(input: ApprovalInput, options?: PresentationCallOptions): Promise<PresentationResult<ApprovalValue>>
  interact(input: SecretInput, options?: PresentationCallOptions): Promise<PresentationResult<SecretInputValue>>
}

export interface UserInteractionHandler {
  interact(request: QuestionRequest, context: CapabilityHandlerContext): PresentationResult<QuestionAnswers> | Promise<PresentationResult<QuestionAnswers>>
  interact(request: ApprovalRequest, context: CapabilityHandlerContext): PresentationResult<ApprovalValue> | Promise<PresentationResult<ApprovalValue>>
  interact(request: SecretInputRequest, context: CapabilityHandlerContext): PresentationResult<SecretInputValue> | Promise<PresentationResult<SecretInputValue>>
}

export const userInteractionProtocol: ProtocolDefinition<UserInteractionRequirementSpec, UserInteractionSupportSpec> =
  defineProtocol(USER_INTERACTION_KIND)

/** The support of a provider. Throws a `TypeError` for an invalid spec. */
export function userInteractionSupport(spec: UserInteractionSupportSpec): ProtocolSupport<UserInteractionSupportSpec> {
  return Object.freeze({ ...plainSupport(USER_INTERACTION_KIND), spec: validateUserInteractionSupport(spec) })
}

/** A typed client over a connection's client. Throws a `TypeError` for an invalid scope. */
export function userInteractionClient(client: CapabilityClient, scope: PresentationInvocationScope): UserInteractionClient {
  const bound = bind(client, scope, USER_INTERACTION_KIND, plainSupport(USER_INTERACTION_KIND), 'interact')
  return Object.freeze({
    interact: (input: QuestionInput | ApprovalInput | SecretInput, options?: PresentationCallOptions) =>
      ask<never>(bound, input, options),
  })
}

/** An implementation over a typed handler, for the operations of `spec`. Throws a `TypeError` for an invalid spec. */
export function userInteractionImplementation(
  participantId: string,
  spec: UserInteractionSupportSpec,
  handler: UserInteractionHandler,
): CapabilityImplementation {
  const protocol = userInteractionSupport(spec)
  const operations: readonly string[] = protocol.spec?.operations ?? []
  return implement<never, UserInteractionValue>(
    participantId,
    protocol,
    'interact',
    (request, context) => handler.interact(request, context),
    request => {
      if (!operations.includes(String(request.kind))) {
        throw new PresentationTypeError('not-negotiated', `UserInteraction provider does not support ${JSON.stringify(request.kind)}`)
      }
    },
  )
}

/** Throws a `TypeError` unless `value` is a `UserInteractionRequest`. */
export function validateUserInteractionRequest(value: unknown): asserts value is UserInteractionRequest {
  checkRequest(USER_INTERACTION_KIND, value)
}

/** Gives a frozen copy of a requirement's spec; throws a `TypeError` when it is invalid. */
export function validateUserInteractionRequirement(value: unknown): UserInteractionRequirementSpec {
  return checkSpec('requirement', USER_INTERACTION_KIND, value) as UserInteractionRequirementSpec
}

/** Gives a frozen copy of a support's spec; throws a `TypeError` when it is invalid. */
export function validateUserInteractionSupport(value: unknown): UserInteractionSupportSpec {
  return checkSpec('support', USER_INTERACTION_KIND, value) as UserInteractionSupportSpec
}
