/** The test's side of a Host in a process of its own, and the connection to it that breaks at a chosen point. */

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Disk, FromHost, ToHost } from './protocol.ts'

/** Where the process dies. */
export type Cut =
  /** A request was sent, and the Host has just heard of it. */
  | { readonly at: 'arrival', readonly run: number }
  /** A request was sent and nothing came back, though the Host had set to work. */
  | { readonly at: 'work', readonly run: number }
  /** The client has received this many events of the conversation. */
  | { readonly at: 'event', readonly count: number }

/** A process with a Host. */
export class HostProcess {
  /** Called when a request has come in. */
  onRequest: (() => void) | undefined
  /** Called when the model asks to take a step and the client has everything that came before; the default lets it. */
  onStep: (() => void) | undefined
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  #waiting = new Map<FromHost['type'], (message: FromHost) => void>()
  /** Frames of this Host that the client's side has received. */
  #received = 0
  /** Frames that must be received before the step that was asked for. */
  #asked: number | undefined

  /** @param cache - Directory of compiled code, shared by the processes of a test. */
  constructor(cache: string) {
    this.#process = fork(new URL('child.ts', import.meta.url), [], {
      execArgv: [], env: { ...process.env, NODE_COMPILE_CACHE: cache },
    })
    this.#exited = once(this.#process, 'exit')
    this.#process.on('message', (message: FromHost) => { this.#heard(message) })
  }

  /** Boots a Host on a home and returns the endpoint of its gateway. */
  async boot(home: string, disk: Disk): Promise<string> {
    this.#received = 0
    this.#asked = undefined
    this.onRequest = this.onStep = undefined
    const booted = await this.#ask('booted', { type: 'boot', home, disk })
    return booted.type === 'booted' ? booted.url : ''
  }

  /** Disposes the Host, which writes everything. */
  async close(): Promise<void> {
    await this.#ask('closed', { type: 'close' })
  }

  /** The client's side has received one more frame. */
  received(): void {
    this.#received += 1
    this.#grant()
  }

  /** The process dies at once. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }

  /** Ends the process. */
  async stop(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect()
    await this.#exited
  }

  /** Lets the step be taken that was asked for. */
  step(): void {
    this.#send({ type: 'step' })
  }

  #heard(message: FromHost): void {
    switch (message.type) {
      case 'request': this.onRequest?.(); break
      case 'ask':
        this.#asked = message.frames
        this.#grant()
        break
      default:
        this.#waiting.get(message.type)?.(message)
        this.#waiting.delete(message.type)
    }
  }

  #grant(): void {
    if (this.#asked === undefined || this.#received < this.#asked) return
    this.#asked = undefined
    if (this.onStep === undefined) this.step()
    else this.onStep()
  }

  async #ask(answer: FromHost['type'], question: ToHost): Promise<FromHost> {
    const answered = new Promise<FromHost>((resolve) => { this.#waiting.set(answer, resolve) })
    this.#send(question)
    return await Promise.race([answered, this.#exited.then(() => { throw new Error('the process of the Host is gone') })])
  }

  #send(message: ToHost): void {
    if (this.#process.connected) this.#process.send(message)
  }
}

/** The client's connection to a process. */
export class Line {
  readonly url: string
  /** Whether the process is dead. */
  cut = false
  /** Events that the client has received. */
  events = 0
  readonly #host: HostProcess
  readonly #plan: Cut | undefined
  #runs = 0

  constructor(host: HostProcess, url: string, plan?: Cut) {
    this.#host = host
    this.url = url
    this.#plan = plan
  }

  /** `fetch` for the official client. `onFrame` gets every frame that the client gets, just before. */
  async fetch(url: string, init: RequestInit, onFrame: (frame: string) => void): Promise<Response> {
    const plan = this.#plan
    const run = this.#runs++
    if (plan?.at === 'arrival' && plan.run === run) this.#host.onRequest = () => { void this.#kill() }
    const deaf = plan?.at === 'work' && plan.run === run
    if (deaf) this.#host.onStep = () => { void this.#kill() }
    const response = await fetch(url, init).catch((error: unknown) => { throw this.cut ? broken() : error })
    const stream = response.headers.get('content-type') === 'text/event-stream' ? response.body : null
    if (stream === null) return response
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        try {
          for await (const frame of framesOf(stream)) {
            if (!deaf) {
              this.events += 1
              onFrame(frame)
              controller.enqueue(encoder.encode(frame))
              if (plan?.at === 'event' && plan.count === this.events) await this.#kill()
              if (this.cut) {
                // The end of a body goes out with its last event.
                if (isTerminal(frame)) controller.close()
                else controller.error(broken())
                return
              }
            }
            this.#host.received()
          }
          controller.close()
        } catch (error) {
          controller.error(this.cut ? broken() : error)
        }
      },
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }

  async #kill(): Promise<void> {
    this.cut = true
    await this.#host.kill()
  }
}

function isTerminal(frame: string): boolean {
  return /^data: \{"type":"RUN_(?:FINISHED|ERROR)"/mu.test(frame)
}

/** What a broken connection is to the client. Under any other name, 0.0.59 leaves a rejection that nobody handles. */
function broken(): DOMException {
  return new DOMException('the connection broke', 'AbortError')
}

/** Whole frames, as they come. */
async function * framesOf(stream: ReadableStream<Uint8Array>): AsyncIterable<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) yield `${part}\n\n`
  }
}
