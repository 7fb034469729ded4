/**
 * Every difference between the generations of DSH that this adapter meets, in one place (N8, host-api §4).
 *
 * - A: up to 0.1.1. The log is `session.events`; a live attempt is a run of durable `assistant/chunk` events.
 * - B: 0.1.2 to 0.1.6. The log is `session.snapshotEvents()`; a live attempt is `agent/assistant-stream` frames; storage
 *   is by handle, and a session is written to by one process at a time.
 * - C: 0.1.7 and later. As B; a Tool's result is a `role:'tool'` message of its own, and no context names its agent.
 *
 * Nothing of DSH is imported as a value here: a symbol that a generation renamed would stop the Host from booting.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'

/** The envelope of a durable session event, alike in every generation. */
export interface LoggedEvent {
  readonly type: string
  readonly seq: number
  readonly data: unknown
}

/** One piece of a model attempt. The chunk protocol is alike in every generation. */
export type StreamChunk =
  | { readonly type: 'text-delta' | 'reasoning-delta', readonly index: number, readonly text: string }
  | {
    readonly type: 'tool-call-delta'
    readonly index: number
    readonly id: string
    readonly name?: string
    readonly argumentsDelta: string
  }
  | { readonly type: 'block-end', readonly index: number }
  | { readonly type: 'finish', readonly reason: { readonly kind: string } }
  | { readonly type: 'block-start' | 'usage' }

/** The payload of generation A's `assistant/chunk`. */
export interface ChunkData {
  readonly turn: number
  readonly step: number
  readonly chunk: StreamChunk
}

/** The frames of `agent/assistant-stream`, generations B and C. */
export type AssistantFrame =
  | { readonly type: 'start', readonly turn: number, readonly step: number }
  | { readonly type: 'chunk', readonly chunk: StreamChunk }
  | { readonly type: 'end', readonly outcome: { readonly kind: string, readonly eventType?: string } }

/** The event that carries {@link AssistantFrame}s; a Host of generation A never emits it. */
export const ASSISTANT_STREAM = 'agent/assistant-stream'

/** Generation A's durable event for one chunk. Never crosses as a record. */
export const ASSISTANT_CHUNK = 'assistant/chunk'

/** The log of a session, in the shape of each generation. */
interface AnyLog {
  readonly events?: readonly LoggedEvent[]
  snapshotEvents?(): readonly LoggedEvent[]
  readonly seq?: number
  eventAt?(seq: number): LoggedEvent | undefined
}

/**
 * Reads a session's log. The array may be a fresh copy: not for hot paths.
 *
 * @param session - A DSH session of any generation.
 * @returns All events, oldest first, contiguous from seq 0.
 * @throws When the session has none of the ways in which a generation of DSH shows its log.
 */
export function readEvents(session: object): readonly LoggedEvent[] {
  const log = session as AnyLog
  if (typeof log.snapshotEvents === 'function') return log.snapshotEvents()
  if (log.events !== undefined) return log.events
  // C calls its snapshots deprecated; reading one event at a time is what it means to keep.
  if (typeof log.eventAt !== 'function' || typeof log.seq !== 'number') throw new Error('the Host shows no log of its sessions')
  return Array.from({ length: log.seq }, (_, seq) => log.eventAt?.(seq)).filter(event => event !== undefined)
}

/**
 * Tells "nothing is stored under this id" from every other failure to resume.
 *
 * @param error - What `agents.resume` threw.
 * @param sessionId - The id that was to be resumed.
 */
export function isSessionNotFound(error: unknown, sessionId: string): boolean {
  if (!(error instanceof Error)) return false
  return error.name === 'SessionPersistenceNotFoundError' || error.message === `session "${sessionId}" not found`
}

/**
 * Tells "somebody else is writing to this session" from every other failure to resume or create. Generation A has no such
 * error: there, sessions of other processes are not locked.
 *
 * @param error - What `agents.resume` or `agents.create` threw.
 */
export function isSessionHeld(error: unknown): boolean {
  return error instanceof Error && error.name === 'SessionAlreadyOwnedError'
}

/**
 * The preset that a session runs: the newest selection in its log, else the one of its header.
 *
 * @param session - A DSH session.
 * @returns The preset's id, or `undefined` for a session that was composed without one.
 */
export function sessionPreset(session: object): string | undefined {
  const selected = readEvents(session).findLast(event => event.type === 'agent-preset/selected')
  if (selected !== undefined) return (selected.data as { agentPreset: string }).agentPreset
  return (session as { header?: { agentPreset?: string } }).header?.agentPreset
}

/**
 * Whether a preset service refused an id that it does not know, as opposed to one that it cannot compose.
 *
 * @param error - What `agentPresets.mount` threw.
 */
export function isPresetUnknown(error: unknown): boolean {
  // A's `UnknownPresetError` does not set its name; its fields are what tells it from the others.
  const { code, presetId, available } = (error ?? {}) as { code?: unknown, presetId?: unknown, available?: unknown }
  return code === 'agent-preset/not-found' || typeof presetId === 'string' && Array.isArray(available)
}

/** The outcome of a Tool call as presenters take it. */
export interface ToolOutcome {
  readonly callId: string
  readonly content: unknown
  readonly isError: boolean
  readonly meta: unknown
}

/**
 * The outcome inside a `tool/result`: a nested block in A and B, the message itself in C.
 *
 * @param data - The event's data.
 * @returns The outcome, or `undefined` where the data has neither form.
 */
export function toolOutcome(data: unknown): ToolOutcome | undefined {
  const { message, meta } = data as { message?: ResultMessage, meta?: unknown }
  const block = message?.role === 'tool' ? message : message?.content?.[0] as ResultMessage | undefined
  const callId = block?.toolCallId ?? message?.source?.callId
  if (block === undefined || callId === undefined) return undefined
  return { callId, content: block.content, isError: block.isError ?? false, meta }
}

interface ResultMessage {
  readonly role?: string
  readonly toolCallId?: string
  readonly isError?: boolean
  readonly content?: readonly unknown[]
  readonly source?: { readonly callId?: string }
}

/**
 * The agent that a `setup` composes. A and B name it on its context; C hands it over beside the context, and there asking
 * the context throws.
 *
 * @param agentCtx - The first argument of `setup`.
 * @param named - Its second argument, where the Host gives one.
 */
export function composedAgent(agentCtx: Context, named: Agent | undefined): Agent | undefined {
  return named ?? agentCtx.agent
}

/** Reads the scope that encloses an agent's: its preset's, or `undefined` for none. */
export type ParentScope = (agent: object) => object | undefined

/**
 * Finds how to read an agent's enclosing scope. `dsh-scope` keeps that relation in module state, so only the copy of
 * the package that the Host itself uses can answer: it is asked to recognise the agent's own scope first.
 *
 * @param agent - A live agent.
 * @param agentCtx - Its scoped context.
 * @returns The reader, or `undefined` where the Host's copy cannot be reached from here.
 */
export async function findParentScope(agent: object, agentCtx: Context): Promise<ParentScope | undefined> {
  try {
    const scope = await import('@deepseek-ai/dsh-scope')
    return scope.scopeOf(agentCtx) === agent ? scope.scopeParentOf : undefined
  } catch {
    return undefined // not installed beside us, or without these exports
  }
}

/**
 * An error of the Host's own about a question: its Tools log the code of such errors only.
 *
 * @param message - For the model.
 * @param code - `ASK_ABORTED` or `NO_PROVIDER`.
 */
export async function questionError(message: string, code: string): Promise<Error> {
  try {
    const { UserQuestionError } = await import('@deepseek-ai/dsh-user-questions')
    return new UserQuestionError(message, code)
  } catch {
    // Not installed beside us, or without this export: callers tell it by its name and code.
    return Object.assign(new Error(message), { name: 'UserQuestionError', code })
  }
}

/** The service behind the proxy that a context hands out: the same object however it was asked for. */
export function unwrapService(service: object): object {
  return (service as { [key: symbol]: object | undefined })[Symbol.for('cordis.original')] ?? service
}

/** Ids of every stored session. Generation A lists headers, B and C snapshots. */
export async function listStoredSessions(ctx: Context): Promise<Set<string>> {
  const persistence = ctx.get('sessionPersistence') as unknown as
    { list(): Promise<readonly ({ id: string } | { header: { id: string } })[]> }
  const stored = await persistence.list()
  return new Set(stored.map(entry => 'header' in entry ? entry.header.id : entry.id))
}
