/**
 * What attachments take and give, as types (spec: presentation, Connection binding; P6).
 *
 * @module
 */

import type { PresentationErrorCode } from './errors.ts'
import type { UserInteractionLimits } from './interaction.ts'
import type { CapabilityImplementation } from './model.ts'
import type { AttachPort, MessagePortLike, StreamPair, TextPort, WebSocketLike } from './ports.ts'

export type { AttachPort, MessagePortLike, StreamPair, TextPort, WebSocketLike }

/** Bounds of one end; every one has a finite default. */
export interface AttachmentLimits {
  /** UTF-8 bytes of one message. Default 4 MiB. */
  readonly maxMessageBytes?: number
  /** Requests without an answer. Default 1024. */
  readonly maxPending?: number
  /** Milliseconds until the greeting must have come. Default 10 s. */
  readonly openingMs?: number
  /** Milliseconds of silence after which the peer is pinged. Default 15 s. */
  readonly pingMs?: number
  /** Milliseconds of silence after which the peer counts as gone. Default 45 s. */
  readonly silenceMs?: number
}

/** A provider of the Host at the other end of a channel. */
export interface HostAttachOptions {
  /** The identity under which the Host knows the endpoint. What the peer calls itself grants nothing. */
  readonly participantId: string
  /** The connection's limits for requests. */
  readonly limits?: UserInteractionLimits
  readonly link?: AttachmentLimits
}

/** A provider that is served over a channel. */
export interface AttachOptions {
  readonly participantId: string
  readonly implementations: readonly CapabilityImplementation[]
  /** `explicit` handlers ask with `context.present()` before they show; for others the Host is asked before they are called. */
  readonly presenting?: 'on-offer' | 'explicit'
  readonly link?: AttachmentLimits
}

/** One end of an attachment. */
export interface PresentationAttachment extends Disposable {
  /** Resolves when both ends have greeted; rejects with a {@link PresentationError} when the link ends before. */
  readonly opened: Promise<void>
  /** Resolves with the reason when the link has ended; never rejects. */
  readonly closed: Promise<PresentationErrorCode>
  /** Ends the lease: what is pending is settled at both ends. */
  close(): void
}
