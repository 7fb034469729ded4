/**
 * A run whose stream breaks goes on where it broke (X1). Runs in browsers.
 *
 * @module
 */

/** What `HttpAgent` fetches with. */
export type AgentFetch = (url: string, init: RequestInit) => Promise<Response>

/** Names a run of a thread. */
export interface RunName {
  readonly threadId: string
  readonly runId: string
}

/** How a client comes back to a run. */
export interface ReconnectOptions {
  /**
   * Attempts in a row that bring no event, before the run fails as it does without. Default: 6. Together with their
   * waits they should fit into the gateway's `reconnectGraceMs`.
   */
  readonly attempts?: number
  /** Resolves when an attempt may begin; they count from 1. Default: after 250 ms, twice as long for each that follows. */
  readonly wait?: (attempt: number) => Promise<void>
  /**
   * Where a run is read from its last event on, for a backend that does not serve `<url>/threads/<threadId>/runs/<runId>`.
   *
   * @param url - Where the run was posted.
   */
  readonly runUrl?: (url: string, run: RunName) => string
}

const ATTEMPTS = 6
const FIRST_WAIT_MS = 250
/** Refusals that say "not now". */
const RETRIED = [408, 429]
const LINE_END = 10

/**
 * A `fetch` for `HttpAgent` whose event streams survive a broken connection: it remembers the `id:` of the last event,
 * reads the rest of the run from behind it, and the agent sees one stream. A break before the first event repeats the
 * request, which the gateway answers once. What comes whole, what is refused, and streams without ids stay as they are.
 *
 * @param fetch - Makes each request.
 */
export function reconnectingFetch(fetch: AgentFetch, options: ReconnectOptions = {}): AgentFetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!response.ok || response.body === null || !isStream) return response
    const source = new RunStream(fetch, url, init, options, response.body)
    const { status, statusText, headers } = response
    return new Response(new ReadableStream(source, { highWaterMark: 0 }), { status, statusText, headers })
  }
}

/** The frames of one run, over as many connections as it takes. */
class RunStream implements UnderlyingDefaultSource<Uint8Array> {
  readonly #fetch: AgentFetch
  readonly #url: string
  readonly #init: RequestInit
  readonly #options: ReconnectOptions
  readonly #decoder = new TextDecoder()
  #reader: ReadableStreamDefaultReader<Uint8Array>
  /** What came of a frame that is not whole. */
  #rest: Uint8Array = new Uint8Array()
  #lastId: string | undefined
  #place: 'before the first event' | 'under way' | 'behind the last event' = 'before the first event'
  #failures = 0
  #cancelled = false

  constructor(fetch: AgentFetch, url: string, init: RequestInit, options: ReconnectOptions, body: ReadableStream<Uint8Array>) {
    this.#fetch = fetch
    this.#url = url
    this.#init = init
    this.#options = options
    this.#reader = body.getReader()
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    for (;;) {
      let failure: unknown
      try {
        const { done, value } = await this.#reader.read()
        const frames = done ? undefined : this.#take(value)
        if (frames !== undefined && frames.length > 0) {
          controller.enqueue(frames)
          return
        }
        if (!done) continue
        if (this.#place === 'under way' && this.#lastId === undefined) this.#place = 'behind the last event'
        failure = new Error('the stream ended before its run')
      } catch (error) {
        failure = error
      }
      if (this.#cancelled) return
      if (this.#place === 'behind the last event') {
        controller.close()
        return
      }
      await this.#reconnect(failure)
    }
  }

  async cancel(reason: unknown): Promise<void> {
    this.#cancelled = true
    // A connection that broke already has nothing to cancel.
    await this.#reader.cancel(reason).catch(() => {})
  }

  /** Whole frames of what there is; the rest waits for more, and is dropped with its connection. */
  #take(chunk: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(this.#rest.length + chunk.length)
    bytes.set(this.#rest)
    bytes.set(chunk, this.#rest.length)
    let end = bytes.length
    while (end > 0 && !(bytes[end - 1] === LINE_END && bytes[end - 2] === LINE_END)) end -= 1
    this.#rest = bytes.subarray(end)
    const frames = bytes.subarray(0, end)
    this.#note(this.#decoder.decode(frames))
    return frames
  }

  #note(frames: string): void {
    // JSON has no line ends of its own: every line begins with the name of its field.
    const events = [...frames.matchAll(/^data: ?(?:\{"type":"(\w+)")?/gmu)]
    if (events.length === 0) return
    this.#lastId = [...frames.matchAll(/^id: ?(.+)$/gmu)].at(-1)?.[1] ?? this.#lastId
    this.#place = events.some(([, type]) => type === 'RUN_FINISHED' || type === 'RUN_ERROR') ? 'behind the last event' : 'under way'
    this.#failures = 0
  }

  /** Finds a connection that goes on. */
  async #reconnect(failure: unknown): Promise<void> {
    const { attempts = ATTEMPTS, wait = pause } = this.#options
    const { signal } = this.#init
    let reason = failure
    while (this.#failures < attempts && !(this.#place === 'under way' && this.#lastId === undefined)) {
      signal?.throwIfAborted()
      this.#failures += 1
      await unlessAborted(wait(this.#failures), signal)
      if (this.#cancelled) return
      try {
        const response = await this.#request()
        if (response.ok && response.body !== null) {
          this.#reader = response.body.getReader()
          this.#rest = new Uint8Array()
          if (this.#cancelled) await this.#reader.cancel()
          return
        }
        reason = await refusal(response)
        if (response.status < 500 && !RETRIED.includes(response.status)) break
      } catch (error) {
        reason = error
      }
    }
    signal?.throwIfAborted()
    throw reason
  }

  #request(): Promise<Response> {
    if (this.#lastId === undefined) return this.#fetch(this.#url, this.#init)
    const { body, ...init } = this.#init
    const headers = new Headers(init.headers)
    headers.delete('content-type')
    headers.set('last-event-id', this.#lastId)
    const run = JSON.parse(String(body)) as RunName
    const { runUrl = runUrlOf } = this.#options
    return this.#fetch(runUrl(this.#url, run), { ...init, method: 'GET', headers })
  }
}

/** Where the gateway serves a run that was posted to `url`. */
function runUrlOf(url: string, { threadId, runId }: RunName): string {
  const [, base = '', query = ''] = /^([^?#]*?)\/?([?#].*)?$/su.exec(url) ?? []
  return `${base}/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}${query}`
}

async function refusal(response: Response): Promise<Error> {
  return Object.assign(new Error(`HTTP ${response.status}: ${await response.text()}`), { status: response.status })
}

function pause(attempt: number): Promise<void> {
  return new Promise((resolve) => { setTimeout(resolve, FIRST_WAIT_MS * 2 ** (attempt - 1)) })
}

/** Settles as the promise does, or rejects when the signal aborts. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal | null | undefined): Promise<void> {
  if (signal === null || signal === undefined) return promise
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => { reject(signal.reason) }
  signal.addEventListener('abort', abort)
  try {
    await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
