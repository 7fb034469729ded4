/**
 * `OpenExternal`, `CopyText` and `Notification` (spec: presentation; P7).
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
import type { CapabilityClient, CapabilityHandlerContext, CapabilityImplementation, ProtocolDefinition, ProtocolSupport } from './model.ts'
import { defineProtocol, plainSupport } from './protocol.ts'
import { checkRequest } from './validation.ts'

export { API_VERSION }
export type { PresentationCallOptions, PresentationInvocationScope, PresentationRequestContext, PresentationResult }

export const OPEN_EXTERNAL_KIND = 'OpenExternal'
export const COPY_TEXT_KIND = 'CopyText'
export const NOTIFICATION_KIND = 'Notification'

/** Opens an absolute HTTP(S) URI in the user's environment. */
export interface OpenExternalRequest extends PresentationRequestContext {
  readonly uri: string
}
export type OpenExternalInput = Omit<OpenExternalRequest, keyof PresentationRequestContext>
/** The provider handed the URI over. It does not say that a page was loaded or seen. */
export interface OpenExternalReceipt {
  readonly accepted: true
}
export interface OpenExternalClient {
  openExternal(input: OpenExternalInput, options?: PresentationCallOptions): Promise<PresentationResult<OpenExternalReceipt>>
}
export interface OpenExternalHandler {
  openExternal(
    request: OpenExternalRequest,
    context: CapabilityHandlerContext,
  ): PresentationResult<OpenExternalReceipt> | Promise<PresentationResult<OpenExternalReceipt>>
}

/** Writes text to the user's clipboard. Never a secret. */
export interface CopyTextRequest extends PresentationRequestContext {
  readonly text: string
  /** `private` text is neither logged nor shown in full. */
  readonly sensitivity?: 'public' | 'private'
}
export type CopyTextInput = Omit<CopyTextRequest, keyof PresentationRequestContext>
/** The provider took the text. It does not say that the clipboard still has it. */
export interface CopyTextReceipt {
  readonly accepted: true
}
export interface CopyTextClient {
  copyText(input: CopyTextInput, options?: PresentationCallOptions): Promise<PresentationResult<CopyTextReceipt>>
}
export interface CopyTextHandler {
  copyText(
    request: CopyTextRequest,
    context: CapabilityHandlerContext,
  ): PresentationResult<CopyTextReceipt> | Promise<PresentationResult<CopyTextReceipt>>
}

/** Shows a transient message. No event, no audit, and no way to report an error. */
export interface NotificationRequest extends PresentationRequestContext {
  readonly text: string
  readonly level?: 'info' | 'warning' | 'error'
  /** Merges with a message of the same key that is not shown yet, within the invocation. */
  readonly deduplicationKey?: string
}
export type NotificationInput = Omit<NotificationRequest, keyof PresentationRequestContext>
export interface NotificationReceipt {
  readonly accepted: true
}
export interface NotificationClient {
  notify(input: NotificationInput, options?: PresentationCallOptions): Promise<PresentationResult<NotificationReceipt>>
}
export interface NotificationHandler {
  notify(
    request: NotificationRequest,
    context: CapabilityHandlerContext,
  ): PresentationResult<NotificationReceipt> | Promise<PresentationResult<NotificationReceipt>>
}

export const openExternalProtocol: ProtocolDefinition<undefined, undefined> = defineProtocol(OPEN_EXTERNAL_KIND)
export const copyTextProtocol: ProtocolDefinition<undefined, undefined> = defineProtocol(COPY_TEXT_KIND)
export const notificationProtocol: ProtocolDefinition<undefined, undefined> = defineProtocol(NOTIFICATION_KIND)

export const openExternalSupport: ProtocolSupport = plainSupport(OPEN_EXTERNAL_KIND)
export const copyTextSupport: ProtocolSupport = plainSupport(COPY_TEXT_KIND)
export const notificationSupport: ProtocolSupport = plainSupport(NOTIFICATION_KIND)

/** A typed client over a connection's client. Throws a `TypeError` for an invalid scope. */
export function openExternalClient(client: CapabilityClient, scope: PresentationInvocationScope): OpenExternalClient {
  const bound = bind(client, scope, OPEN_EXTERNAL_KIND, openExternalSupport, 'openExternal')
  return Object.freeze({
    openExternal: (input: OpenExternalInput, options?: PresentationCallOptions) => ask<OpenExternalReceipt>(bound, input, options),
  })
}

/** A typed client over a connection's client. Throws a `TypeError` for an invalid scope. */
export function copyTextClient(client: CapabilityClient, scope: PresentationInvocationScope): CopyTextClient {
  const bound = bind(client, scope, COPY_TEXT_KIND, copyTextSupport, 'copyText')
  return Object.freeze({
    copyText: (input: CopyTextInput, options?: PresentationCallOptions) => ask<CopyTextReceipt>(bound, input, options),
  })
}

/** A typed client over a connection's client. Throws a `TypeError` for an invalid scope. */
export function notificationClient(client: CapabilityClient, scope: PresentationInvocationScope): NotificationClient {
  const bound = bind(client, scope, NOTIFICATION_KIND, notificationSupport, 'notify')
  return Object.freeze({
    notify: (input: NotificationInput, options?: PresentationCallOptions) => ask<NotificationReceipt>(bound, input, options),
  })
}

/** An implementation over a typed handler. */
export function openExternalImplementation(participantId: string, handler: OpenExternalHandler): CapabilityImplementation {
  return implement<OpenExternalRequest, OpenExternalReceipt>(participantId, openExternalSupport, 'openExternal',
    (request, context) => handler.openExternal(request, context))
}

/** An implementation over a typed handler. */
export function copyTextImplementation(participantId: string, handler: CopyTextHandler): CapabilityImplementation {
  return implement<CopyTextRequest, CopyTextReceipt>(participantId, copyTextSupport, 'copyText',
    (request, context) => handler.copyText(request, context))
}

/** An implementation over a typed handler. */
export function notificationImplementation(participantId: string, handler: NotificationHandler): CapabilityImplementation {
  return implement<NotificationRequest, NotificationReceipt>(participantId, notificationSupport, 'notify',
    (request, context) => handler.notify(request, context))
}

/** Throws a `TypeError` unless `value` is an `OpenExternalRequest`. */
export function validateOpenExternalRequest(value: unknown): asserts value is OpenExternalRequest {
  checkRequest(OPEN_EXTERNAL_KIND, value)
}

/** Throws a `TypeError` unless `value` is a `CopyTextRequest`. */
export function validateCopyTextRequest(value: unknown): asserts value is CopyTextRequest {
  checkRequest(COPY_TEXT_KIND, value)
}

/** Throws a `TypeError` unless `value` is a `NotificationRequest`. */
export function validateNotificationRequest(value: unknown): asserts value is NotificationRequest {
  checkRequest(NOTIFICATION_KIND, value)
}
