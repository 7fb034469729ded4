/**
 * What a user of `ctx.browserTools` sees.
 *
 * @module
 */

import type { Agent } from '@deepseek-ai/dsh-agent'

/** A Tool that a browser offers. */
export interface BrowserTool {
  /** `[A-Za-z_][A-Za-z0-9_-]{0,63}`, not reserved. */
  readonly name: string
  /** What the model reads. Not blank. */
  readonly description: string
  /** JSON Schema of the arguments, object-rooted. Absent: any object. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** A call of the model, its arguments checked. */
export interface BrowserToolCall {
  /** The Host's id of the call. Unique among the calls that are pending on one Agent. */
  readonly callId: string
  readonly name: string
  /** Plain JSON, frozen. Satisfies the Tool's parameters. */
  readonly arguments: unknown
}

/** How calls reach the browser. */
export interface BrowserToolTransport {
  /**
   * Runs a call in the browser. Several calls may be pending at once.
   *
   * @param call - The call.
   * @param signal - Aborts, with an `Error` as its reason, when the call is over for another reason: the turn was
   *   cancelled, the time is up, the lease or the Agent is gone. What is returned after that is dropped.
   * @returns The result or a promise of it: any JSON value; text reaches the model as it is, everything else as JSON
   *   text. A rejection reaches the model as an error with its message.
   */
  invoke(call: BrowserToolCall, signal: AbortSignal): unknown
}

/** The browser Tools of one owner on one Agent. */
export interface BrowserToolLease {
  readonly agent: Agent
  readonly owner: string
  /** Names of the Tools that the Agent has through this lease. */
  readonly tools: readonly string[]
  /**
   * Replaces the Tools, all or nothing. The model sees the change at its next step; calls in flight go on.
   *
   * @param tools - All Tools that the lease shall have.
   * @throws An `Error` with `code`, and `violations` when a schema is at fault. Nothing has changed then.
   */
  update(tools: readonly BrowserTool[]): void
  /** Takes the Tools back and rejects what is pending. Idempotent. */
  dispose(): void
}

/** Stable codes of {@link BrowserToolError}. */
export type BrowserToolErrorCode =
  /** The name of an owner does not match `[A-Za-z0-9][A-Za-z0-9._:-]{0,127}`. */
  | 'INVALID_BROWSER_TOOL_OWNER'
  /** The owner has a live lease on this Agent: update that one, or dispose it first. */
  | 'BROWSER_TOOL_LEASE_EXISTS'
  /** The lease is over. */
  | 'BROWSER_TOOL_LEASE_DISPOSED'
  /** The Agent is gone. */
  | 'AGENT_NOT_AVAILABLE'
  /** Tools that are no JSON. */
  | 'INVALID_FRONTEND_TOOL'
  /** The Agent got a Tool of the same name from elsewhere while the lease was live. */
  | 'FRONTEND_TOOL_NAME_COLLISION'
  /** Arguments of a call do not satisfy the Tool's parameters. */
  | 'INVALID_BROWSER_TOOL_ARGUMENTS'
  /** The browser did not answer in time. */
  | 'BROWSER_TOOL_TIMEOUT'
  /** The call was cancelled with its turn. */
  | 'BROWSER_TOOL_ABORTED'
  /** The transport failed with something that is no `Error`. */
  | 'BROWSER_TOOL_FAILED'

/** An error of the broker. Those of the Tools' validation are plain `Error`s with a `code` of the gateway's table. */
export class BrowserToolError extends Error {
  override readonly name = 'BrowserToolError'
  readonly code: BrowserToolErrorCode

  /**
   * @param code - Stable code.
   * @param message - For people, and for the model where a call fails.
   */
  constructor(code: BrowserToolErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
