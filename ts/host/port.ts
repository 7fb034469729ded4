/**
 * The port between the gateway and whatever runs its agents. `dsh.ts` implements it for DeepSeek Harness; an
 * application without DSH may implement it for agents of its own and put them behind the same gateway (N9).
 *
 * The vocabulary of durable records is DSH's session log (`turn/start`, `user/message`, `assistant/message`,
 * `tool/call`, `tool/result`, ...), because every rule of the projection is stated over it. Records cross into Rust
 * as JSON text, once each; only deltas of a live model attempt cross as bare strings.
 *
 * @module
 */

/** What the gateway knows about a thread before its agent exists. */
export interface OpenAgentRequest {
  /** Durable session id, derived from (tenant, user, thread). Safe as a file name; never a client's id. */
  readonly sessionId: string
  /** Absolute path of the thread's working directory. The Host creates it when missing. */
  readonly workspace: string
  /** Agent preset to compose a new session from; a resumed session keeps its own. */
  readonly preset?: string
  /** `resume` throws `SESSION_UNKNOWN` where nothing is stored, and leaves no trace then. Default: `resume-or-create`. */
  readonly mode?: 'resume-or-create' | 'resume'
}

/** A Host that runs agents. */
export interface AgentHost {
  /**
   * Resumes the session when it is persisted, creates it otherwise.
   *
   * `events` is called from the moment that {@link HostAgent.history} has been read, always synchronously from the
   * Host's own call stack (which may be that of a call of {@link HostAgent}: a Host may report before `deliver`
   * returns). A receiver never calls back into the agent from there: a DSH session cannot append while it publishes.
   *
   * @throws When the session can be neither resumed nor created; nothing of it remains then.
   */
  open(request: OpenAgentRequest, events: AgentEvents): Promise<HostAgent>
  /** Where uploaded files are kept; a Host without it takes none (501). */
  readonly files?: HostFiles
}

/** Where a Host keeps uploaded files. Nothing here needs an agent; what does is {@link HostAgent.stageFile}. */
export interface HostFiles {
  /** What can be kept at this moment. */
  readonly stores: HostStores
  /**
   * Checks an image and keeps it for ever. It is addressed by its content, so that the same bytes are kept once.
   *
   * @throws An error with `code` `UNSUPPORTED_MEDIA_TYPE` where the bytes are no image of that type, `FILE_TOO_LARGE`
   *   where they exceed a limit of the Host's, `HOST_SERVICE_MISSING` where there is no image store.
   */
  saveImage(image: { readonly data: Uint8Array, readonly mediaType: string, readonly name: string }): Promise<StoredFile>
  /**
   * Reads a file, whoever stored it and whenever.
   *
   * @param kind - Where it is kept.
   * @param reference - As {@link StoredFile.reference} gave it.
   * @param signal - Stops reading.
   * @throws An error with `code` `FILE_NOT_FOUND` or `HOST_SERVICE_MISSING`, at the latest from the first `next()`.
   */
  read(kind: FileKind, reference: unknown, signal: AbortSignal): AsyncIterable<Uint8Array>
}

/** What a Host can keep. */
export interface HostStores {
  /** Largest image in bytes; absent where there is no image store. */
  readonly maxImageBytes?: number
  /** Whether files of any type can be kept. */
  readonly files: 'present' | 'missing'
}

/** Where a Host keeps a file: in its image store, or as a file of any type. */
export type FileKind = 'image' | 'file'

/** A file that a Host keeps. */
export interface StoredFile {
  /** The Host's own reference: JSON, as it stands in the content of messages. */
  readonly reference: unknown
  /** Names the upload until a message carries it, where the Host keeps that. Two uploads have two receipts. */
  readonly receipt?: string
}

/** One live agent, owned by the gateway until {@link HostAgent.dispose}. */
export interface HostAgent {
  /** The Host's own object, compared by identity in `ctx.agUi.identityFor(agent)`. */
  readonly agent: object
  /**
   * The durable log: a JSON array of {@link SessionRecord}, oldest first. The first read fixes where it ends and lets
   * the reports go, from the next microtask on. Records that follow arrive through {@link AgentEvents.record}; none is
   * missing or doubled. Read it once: a Host may make the text anew at every read.
   */
  readonly history: string
  /**
   * Queues messages for the agent, in order. With `wake` the last one opens a turn of its own and the others join
   * it; without, all of them wait for the next step of the running turn, or for the turn that is next.
   *
   * @throws When the agent is gone, or from inside a report of a record. An error with `code` `FILE_NOT_STAGED` where an
   *   upload of a message cannot be used up: the agent has got none of the messages then.
   */
  deliver(messages: readonly HostMessage[], wake: boolean): void
  /**
   * Writes the durable log, everything that was reported of it included. Resolves when it is on the disk, and also
   * where that fails or takes too long: a run's end waits for it. A Host without it is believed to write at once.
   */
  flush?(): Promise<void>
  /**
   * Notes in the durable log that a client is told of the interruption that the log ends with, so that
   * {@link history} says so in every later life: a record of type `agent/inbox/spliced` that inserts a message whose
   * source is {@link INTERRUPTION_TOLD}. Without it, a client is told again whenever the thread comes back.
   */
  noteInterruption?(): void
  /** Requests cancellation of the running turn and drops what is queued, also when idle. No-op on a gone agent. */
  cancel(): void
  /**
   * Registers a Tool in this agent's own scope, visible to no other agent.
   *
   * @returns The function that takes the Tool back. A call in flight survives it.
   * @throws When the Host refuses the definition.
   */
  registerTool(tool: HostTool): () => void
  /** Names of the Tools that this agent inherits (global, preset), without those of {@link registerTool}. */
  inheritedTools(): string[]
  /** Id of the preset that the session is composed from; absent where there is none. */
  readonly preset?: string | undefined
  /**
   * Looks after what a run needs before it is admitted. A Host without it has neither presets nor files (501). Nothing else
   * is asked of the agent meanwhile.
   *
   * @throws An error with `code` `PRESET_LOCKED` where a turn has begun, `FILE_NOT_STAGED` where a file was sent already or
   *   is forgotten, `MESSAGE_LIMIT_EXCEEDED`, `UNSUPPORTED_MESSAGE_CONTENT` or `HOST_SERVICE_MISSING`. The preset is what it
   *   was then.
   */
  prepare?(needs: RunNeeds): Promise<void>
  /**
   * Stages a file with the agent: it waits there for a message that carries it. `data` is read as fast as it is kept.
   *
   * @throws What `data` throws, an `AbortError` where `signal` aborts, or an error with `code` `HOST_SERVICE_MISSING`.
   *   Nothing is kept then.
   */
  stageFile?(file: { readonly data: AsyncIterable<Uint8Array>, readonly name: string, readonly signal: AbortSignal }): Promise<StoredFile>
  /**
   * Reads a declared file through the agent's own file system.
   *
   * @param path - Absolute, or relative to the session's working directory.
   * @param maxBytes - Largest file.
   * @param signal - Stops reading.
   * @throws An error with `code` `FILE_NOT_FOUND` (also for what is no regular file), `FILE_FORBIDDEN`, `FILE_TOO_LARGE`
   *   or `HOST_SERVICE_MISSING`.
   */
  readDeliverable?(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array>
  /** Aborts what runs, waits for Tool bodies, releases the agent. Idempotent; never rejects for a turn's failure. */
  dispose(): Promise<void>
}

/** Source of the message that {@link HostAgent.noteInterruption} leaves. Queued and taken back at once: no model sees it. */
export const INTERRUPTION_TOLD = { kind: 'ag-ui', form: 'interruption-told' } as const

/** A user-role message for {@link HostAgent.deliver}. */
export interface HostMessage {
  /** Message id to keep through inbox, log and requests. The Host mints one when absent. */
  readonly id?: string
  readonly content: readonly ContentBlock[]
  /** Receipts of uploads that the message uses up. Not part of what the agent sees. */
  readonly receipts?: readonly string[]
  /** Provenance: `{kind:'user'}` for the person's own words, a kind of ours for injected context. */
  readonly source: { readonly kind: string, readonly [key: string]: unknown }
}

/** A block of a message: text, or a file as its store refers to it. */
export type ContentBlock =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: FileKind, readonly attachment: unknown }

/** What a run needs of its agent. */
export interface RunNeeds {
  /** The preset that the blank session shall be composed from. */
  readonly preset?: string
  /** Files that its messages carry. */
  readonly files: readonly SentFile[]
}

/** A file that a message carries. */
export interface SentFile extends StoredFile {
  readonly kind: FileKind
}

/** A Tool whose body lives in the gateway. */
export interface HostTool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, object-rooted. */
  readonly parameters: Record<string, unknown>
  /** Whether calls of one step may run at the same time. Browser Tools say yes, the state Tool no. */
  readonly concurrent: boolean
  /**
   * The body. Resolves with what the model sees and what the log keeps beside it; rejects with an `Error` whose
   * message the model sees. Must settle soon after `signal` aborts.
   */
  execute(call: HostToolCall): Promise<HostToolResult>
}

export interface HostToolCall {
  readonly callId: string
  /** Parsed arguments, or the raw text where the model's JSON was broken. */
  readonly arguments: unknown
  readonly signal: AbortSignal
}

export interface HostToolResult {
  /** What the model sees. */
  readonly text: string
  /** Presentation metadata, durable beside the result. */
  readonly meta?: Record<string, unknown>
}

/** What an agent asks a person. */
export type PersonRequest =
  /** Leave for one operation. */
  | {
    readonly kind: 'approval'
    readonly toolName: string
    /** The call that is decided about, where the Host knows it. */
    readonly callId?: string
    /** Why, for the person. */
    readonly reason?: string
  }
  /** Answers to questions, at least one; their ids differ. */
  | {
    readonly kind: 'questions'
    readonly questions: readonly PersonQuestion[]
    /** The call that asks, where the Host knows it. */
    readonly callId?: string
  }

/** One question. Clients get it as it is, with whatever else the Host puts into it. */
export interface PersonQuestion {
  readonly id: string
  readonly question: string
  /** Text that the question is about. */
  readonly detail?: string
  readonly header?: string
  /** What can be chosen; without options the answer is text. */
  readonly options?: readonly { readonly label: string, readonly description?: string }[]
  /** Whether several options may be chosen, and text beside them. Default: one option, or text. */
  readonly multiSelect?: boolean
  /** What the Host will do with the answer. */
  readonly intent?: { readonly kind: string, readonly [key: string]: unknown }
}

/** The answer to one question. */
export interface QuestionAnswer {
  readonly id: string
  /** Labels of the chosen options. */
  readonly selected: string[]
  /** The person's own words. */
  readonly custom?: string
}

/** How a request to a person ends. */
export type PersonOutcome =
  | { readonly status: 'allowed' }
  | { readonly status: 'rejected' }
  /** One answer a question, in the order of the questions. */
  | { readonly status: 'answered', readonly answers: readonly QuestionAnswer[] }
  /** Nobody decided: withdrawn, out of time, aborted. The message says which, for the model. */
  | { readonly status: 'cancelled', readonly message: string }

/** One durable event of the session log, with the card of a Tool call or result beside it. */
export interface SessionRecord {
  readonly type: string
  readonly seq: number
  readonly data: unknown
  /**
   * Of `tool/call` and `tool/result` only: the view that the executing scope's presenter gave. `null` where the
   * Tool is known but has none (the gateway falls back to a generic card); absent where the Tool is unknown.
   */
  readonly card?: unknown
}

/**
 * What a Host reports of one agent. All calls are synchronous and cheap. The order is the Host's: a durable record
 * is reported after the deltas that it settles.
 */
export interface AgentEvents {
  /** A durable record was appended: the JSON text of a {@link SessionRecord}. Records of types that the projection
   * does not know may be left out. */
  record(json: string): void
  /** A model attempt begins. Its deltas follow, until {@link attemptEnd}. */
  attemptStart(turn: number, step: number): void
  /** Text of the attempt, as the model produces it. Never empty. */
  text(delta: string): void
  /** Reasoning of the attempt, as the model produces it. Never empty. */
  reasoning(delta: string): void
  /** Arguments of a call, as the model produces them; the first of a call carries its name and may have no delta. */
  toolCall(callId: string, name: string | undefined, delta: string): void
  /** The block that was written last is complete. Not reported for a block that others interleave with and follow. */
  blockEnd(): void
  /** The attempt is over: committed to the log as a message, whose record came just before, or abandoned. */
  attemptEnd(committed: boolean): void
  /** A Tool's body starts or ends. Reported for every Tool; calls that policy refused have no body. */
  body(callId: string, running: boolean): void
  /** {@link HostAgent.inheritedTools} may have changed. */
  toolsChanged(): void
  /** The agent's status changed. `idle` means: no turn, and nothing queued to start one. */
  status(status: 'idle' | 'running'): void
  /**
   * The agent asks a person, inside a turn. Resolves when somebody has decided or nobody will: never later than soon
   * after `signal` aborts, and never rejects. A Host that cannot ask never calls it. Unlike a report it may be called
   * before the history was read; it waits until then.
   */
  ask(request: PersonRequest, signal: AbortSignal): Promise<PersonOutcome>
  /** The agent was disposed by someone else. Nothing follows. */
  gone(): void
}
