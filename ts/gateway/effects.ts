/**
 * What the native gateway asks for, as it crosses: one JSON array a drain. The fields are those of `src/gateway/effect.rs`.
 *
 * @module
 */

import type { HostMessage, PersonOutcome, RunNeeds } from '../host/port.ts'

/** One effect. */
export type Effect =
  | { readonly type: 'open', readonly thread: number, readonly sessionId: string, readonly tenantId: string, readonly userId: string, readonly threadId: string, readonly mode: 'resume-or-create' | 'resume' }
  | { readonly type: 'close', readonly thread: number }
  | { readonly type: 'syncTools', readonly thread: number, readonly unregister: readonly string[], readonly register: readonly ToolEffect[] }
  | { readonly type: 'prepare', readonly thread: number } & RunNeeds
  | { readonly type: 'deliver', readonly thread: number, readonly messages: readonly HostMessage[], readonly wake: boolean }
  | { readonly type: 'cancel', readonly thread: number }
  | { readonly type: 'upload', readonly errand: number, readonly thread: number }
  | { readonly type: 'readDeliverable', readonly errand: number, readonly thread: number, readonly path: string, readonly maxBytes: number, readonly disposition: string }
  | { readonly type: 'refuseErrand', readonly errand: number, readonly status: number, readonly body: string }
  | { readonly type: 'flush', readonly thread: number, readonly records: number }
  | { readonly type: 'noteInterruption', readonly thread: number }
  | { readonly type: 'settle', readonly token: number, readonly outcome: CallOutcome }
  | { readonly type: 'answer', readonly token: number, readonly outcome: PersonOutcome }
  | { readonly type: 'unknownInterrupts', readonly thread: number, readonly count: number }

/** A Tool to register in the agent's own scope. */
export interface ToolEffect {
  readonly name: string
  readonly description: string
  readonly parameters: Record<string, unknown>
  readonly concurrent: boolean
}

/** How a Tool body settles. */
export type CallOutcome =
  | { readonly status: 'resolved', readonly text: string, readonly meta?: Record<string, unknown> }
  | { readonly status: 'rejected', readonly message: string }
