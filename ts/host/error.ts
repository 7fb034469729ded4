/**
 * Errors of the port to the Host, and how they are logged. Route on `code`, never on the message.
 *
 * @module
 */

/** What went wrong between the gateway and its Host. */
export type HostErrorCode =
  /** A live agent or session already has this id, or another process is writing to the session. */
  | 'SESSION_LIVE'
  /** The preset names no composition that this Host can find. */
  | 'AGENT_PRESET_UNKNOWN'
  /** The preset exists and cannot be composed. */
  | 'AGENT_PRESET_INVALID'
  /** A preset is asked for and the Host has no preset service. */
  | 'AGENT_PRESETS_UNAVAILABLE'
  /** The agent has been disposed. */
  | 'AGENT_GONE'
  /** Called from inside a report of the same agent, while its session cannot append. */
  | 'REENTRANT_CALL'
  /** A Tool call was aborted and its body did not settle by itself. */
  | 'TOOL_ABORTED'

/** An error of the port, with a stable code. */
export class HostError extends Error {
  override readonly name = 'HostError'
  readonly code: HostErrorCode

  /**
   * @param code - Stable code.
   * @param message - For people. Contains ids, never message content.
   * @param cause - What the Host threw.
   */
  constructor(code: HostErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }
}

/**
 * Names a failure without its content, for logs.
 *
 * @param error - Anything thrown.
 * @returns The code when there is one, else the class name.
 */
export function errorLabel(error: unknown): string {
  if (typeof error !== 'object' || error === null) return typeof error
  const { code, name } = error as { code?: unknown, name?: unknown }
  if (typeof code === 'string') return code
  return typeof name === 'string' ? name : 'Error'
}

/** Where the adapter warns. It never logs content, only ids and error codes. */
export interface HostLogger {
  warn(message: string): void
}
