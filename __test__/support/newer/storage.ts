/**
 * `ctx.sessionPersistence` of B and C: storage by handle (host-api §4.1). The files are a fake's own, one a session,
 * written as events are appended, so that a copy of the directory is what a killed Host leaves behind.
 */

import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type { LogEvent } from './generation.ts'
import type { SessionHeader } from './session.ts'

class SessionError extends Error {
  readonly sessionId: string

  constructor(name: string, sessionId: string, message: string) {
    super(message)
    this.name = name
    this.sessionId = sessionId
  }
}

const notFound = (id: string) => new SessionError('SessionPersistenceNotFoundError', id, `session "${id}" not found`)
const exists = (id: string) => new SessionError('SessionAlreadyExistsError', id, `session "${id}" already exists`)
const owned = (id: string) =>
  new SessionError('SessionAlreadyOwnedError', id, `session "${id}" is already owned by an active write handle`)
const readOnly = (id: string) => new SessionError('SessionReadOnlyError', id, `session "${id}" is open for reading`)
const closed = (id: string) => new SessionError('SessionHandleClosedError', id, `the handle of session "${id}" is closed`)

interface Stored {
  readonly header: SessionHeader
  readonly inheritedEventCount: number
}

/** What `stat` and `list` answer. */
export interface SessionSnapshot {
  readonly header: SessionHeader
  readonly revision: string
  readonly eventCount: number
}

/** One stored session, open. */
export class SessionHandle {
  readonly id: string
  readonly header: SessionHeader
  readonly inheritedEventCount: number
  readonly access: 'read' | 'write'
  readonly #storage: NewerPersistence
  #open = true

  constructor(storage: NewerPersistence, stored: Stored, access: 'read' | 'write') {
    this.#storage = storage
    this.id = stored.header.id
    this.header = stored.header
    this.inheritedEventCount = stored.inheritedEventCount
    this.access = access
  }

  async read(offset = 0, length = Number.MAX_SAFE_INTEGER): Promise<{ eventState: 'detached', events: LogEvent[] }> {
    this.#assertOpen()
    return { eventState: 'detached', events: this.#storage.eventsOf(this.id).slice(offset, offset + length) }
  }

  async append(events: readonly LogEvent[]): Promise<void> {
    this.#assertOpen()
    if (this.access === 'read') throw readOnly(this.id)
    this.#storage.write(this, events)
  }

  async flush(): Promise<void> {
    this.#assertOpen()
    if (this.access === 'read') throw readOnly(this.id)
    this.#storage.write(this, [])
  }

  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    this.#storage.release(this)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #assertOpen(): void {
    if (!this.#open) throw closed(this.id)
  }
}

/** The store. */
export class NewerPersistence extends Service {
  /** Write handles by session: they take what the live session appends. */
  private readonly writers = new Map<string, SessionHandle>()
  private readonly root: string

  constructor(ctx: Context, root: string) {
    super(ctx, 'sessionPersistence')
    this.root = root
    mkdirSync(root, { recursive: true })
    ctx.on('session/event', (session, event) => {
      const writer = this.writers.get(session.id)
      if (writer !== undefined) this.write(writer, [event as LogEvent])
    })
    ctx.on('session/flush', async (session) => { await this.writers.get(session.id)?.flush() })
  }

  /** Sessions that are open for writing. */
  get held(): string[] {
    return [...this.writers.keys()]
  }

  async create(header: SessionHeader, { inheritedEventCount = 0, signal }: { inheritedEventCount?: number, signal?: AbortSignal } = {}): Promise<SessionHandle> {
    signal?.throwIfAborted()
    if (this.writers.has(header.id) || existsSync(this.fileOf(header.id))) throw exists(header.id)
    return this.claim({ header, inheritedEventCount })
  }

  async open(id: string, access: 'read' | 'write', { signal }: { signal?: AbortSignal } = {}): Promise<SessionHandle> {
    signal?.throwIfAborted()
    const stored = this.storedAs(id)
    if (stored === undefined) throw notFound(id)
    if (access === 'read') return new SessionHandle(this, stored, 'read')
    if (this.writers.has(id)) throw owned(id)
    return this.claim(stored)
  }

  async flush(): Promise<void> {
    await Promise.all([...this.writers.values()].map(writer => writer.flush()))
  }

  async stat(id: string): Promise<SessionSnapshot | undefined> {
    const stored = this.storedAs(id)
    return stored === undefined ? undefined : this.snapshotOf(stored)
  }

  async list(): Promise<readonly SessionSnapshot[]> {
    const files = readdirSync(this.root).filter(name => name.endsWith('.log')).map(name => decodeURIComponent(name.slice(0, -4)))
    const ids = new Set([...files, ...this.writers.keys()])
    return [...ids].flatMap((id) => {
      const stored = this.storedAs(id)
      return stored === undefined ? [] : [this.snapshotOf(stored)]
    })
  }

  /** @internal For handles. Nothing is stored of a session before its first event or flush. */
  write({ id, header, inheritedEventCount }: SessionHandle, events: readonly LogEvent[]): void {
    const file = this.fileOf(id)
    const head = existsSync(file) ? [] : [{ header, inheritedEventCount }]
    appendFileSync(file, [...head, ...events].map(line => `${JSON.stringify(line)}\n`).join(''))
  }

  /** @internal For handles. */
  eventsOf(id: string): LogEvent[] {
    return this.linesOf(id).slice(1) as LogEvent[]
  }

  /** @internal For handles. */
  release({ id, access }: SessionHandle): void {
    if (access === 'write') this.writers.delete(id)
  }

  private claim(stored: Stored): SessionHandle {
    const handle = new SessionHandle(this, stored, 'write')
    this.writers.set(handle.id, handle)
    return handle
  }

  private storedAs(id: string): Stored | undefined {
    return this.linesOf(id)[0] as Stored | undefined ?? this.writers.get(id)
  }

  private snapshotOf({ header }: Stored): SessionSnapshot {
    const file = this.fileOf(header.id)
    const revision = existsSync(file) ? String(statSync(file).size) : '0'
    return { header, revision, eventCount: Math.max(0, this.linesOf(header.id).length - 1) }
  }

  private linesOf(id: string): unknown[] {
    const file = this.fileOf(id)
    if (!existsSync(file)) return []
    // A line that a crash cut off was never committed.
    return readFileSync(file, 'utf8').split('\n').slice(0, -1).map(line => JSON.parse(line) as unknown)
  }

  private fileOf(id: string): string {
    return join(this.root, `${encodeURIComponent(id)}.log`)
  }
}
