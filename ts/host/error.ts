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
  /** Nothing is stored under a session id that was only to be resumed. */
  | 'SESSION_UNKNOWN'
  /** The Host has no service for what is asked. */
  | 'HOST_SERVICE_MISSING'
  /** The file is not there, or is not a regular file. */
  | 'FILE_NOT_FOUND'
  /** The file system refuses to read the file. */
  | 'FILE_FORBIDDEN'
  /** The file exceeds a limit. */
  | 'FILE_TOO_LARGE'
  /** A file was sent already, or its upload is forgotten. */
  | 'FILE_NOT_STAGED'
  /** A turn has begun with another preset. */
  | 'PRESET_LOCKED'
  /** The images of a message exceed a limit of the Host's. */
  | 'MESSAGE_LIMIT_EXCEEDED'
  /** The model takes no such content. */
  | 'UNSUPPORTED_MESSAGE_CONTENT'
  /** The bytes are no image of the type that was said. */
  | 'UNSUPPORTED_MEDIA_TYPE'

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

/**
 * The stable code of a failure, where it has one.
 *
 * @param error - Anything thrown.
 */
export function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}

/**
 * The error where the Host lacks what is asked.
 *
 * @param service - What it lacks, for people.
 */
export function serviceMissing(service: string): HostError {
  return new HostError('HOST_SERVICE_MISSING', `the Host has no ${service}`)
}

/**
 * A failure of one of the Host's services in the gateway's words.
 *
 * @param error - What the service threw.
 * @param codes - Its codes that the gateway has a word for.
 * @param message - For people.
 * @returns A {@link HostError}, or `error` itself where its code is not among them.
 */
export function translated(error: unknown, codes: Readonly<Record<string, HostErrorCode>>, message: string): unknown {
  const code = codes[codeOf(error) ?? '']
  return code === undefined ? error : new HostError(code, message, error)
}

/** Where the adapter warns. It never logs content, only ids and error codes. */
export interface HostLogger {
  warn(message: string): void
}
