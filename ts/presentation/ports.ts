/**
 * Duplex message channels as attachments see them: texts in and out, and the end.
 *
 * @module
 */

import { StringDecoder } from 'node:string_decoder'
import { PresentationTypeError } from './errors.ts'

/** A channel of texts. Give one of your own for any transport that is not known here. */
export interface TextPort {
  /** Sends one text. May throw when the channel is gone. */
  send(text: string): void
  /** Called once. From now on the events are reported; `undefined` is a message that is no text. */
  start(events: { message(text: string | undefined): void, lost(): void }): void
  close(): void
}

/** A `MessagePort`, `Worker` or `parentPort`, of Node or of a browser. */
export interface MessagePortLike {
  postMessage(message: string): void
  close?(): void
}

/** A `WebSocket`, of `ws` or of a browser. */
export interface WebSocketLike {
  readonly readyState: number
  send(text: string): void
  close(): void
}

/** Two byte streams, such as `process.stdin` and `process.stdout`: one JSON text a line. */
export interface StreamPair {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
}

/** What an attachment takes. */
export type AttachPort = TextPort | MessagePortLike | WebSocketLike | StreamPair

type Listen = (event: string, listener: (...values: unknown[]) => void) => void

/** Gives the channel as a text port. Throws a `TypeError` for anything else. */
export function toTextPort(port: AttachPort, maxBytes: number): TextPort {
  if (typeof port === 'object' && port !== null) {
    if ('start' in port && 'send' in port && typeof port.send === 'function' && !('postMessage' in port)) return port as TextPort
    if ('postMessage' in port) return messagePort(port)
    if ('readyState' in port) return webSocket(port)
    if ('input' in port && 'output' in port) return lines(port, maxBytes)
  }
  throw new PresentationTypeError('invalid-request', 'Presentation attachment port must be a message port, a WebSocket, a pair of streams or a TextPort')
}

/** `on` of Node's emitters, else `addEventListener` of the web's targets. */
function listenTo(target: object, unwrap: (value: unknown) => unknown): Listen {
  if ('on' in target && typeof target.on === 'function') {
    const emitter = target as NodeJS.EventEmitter
    return (event, listener) => { emitter.on(event, listener) }
  }
  const events = target as EventTarget
  return (event, listener) => { events.addEventListener(event, value => { listener(unwrap(value)) }) }
}

function textOf(data: unknown): string | undefined {
  return typeof data === 'string' ? data : undefined
}

function messagePort(port: MessagePortLike): TextPort {
  return {
    send: text => { port.postMessage(text) },
    start: ({ message, lost }) => {
      const listen = listenTo(port, event => (event as MessageEvent).data)
      listen('message', data => { message(textOf(data)) })
      listen('messageerror', () => { message(undefined) })
      // A port closes, a worker exits.
      listen('close', lost)
      listen('exit', lost)
      if ('start' in port && typeof port.start === 'function') port.start()
    },
    close: () => { port.close?.() },
  }
}

const CONNECTING = 0

function webSocket(socket: WebSocketLike): TextPort {
  const waiting: string[] = []
  return {
    send: text => {
      if (socket.readyState === CONNECTING) waiting.push(text)
      else socket.send(text)
    },
    start: ({ message, lost }) => {
      const listen = listenTo(socket, event => (event as MessageEvent).data)
      const isEmitter = 'on' in socket
      listen('open', () => { for (const text of waiting.splice(0)) socket.send(text) })
      listen('message', (data, isBinary) => {
        // `ws` gives text as a buffer and says whether it was text.
        message(isEmitter && isBinary === false ? String(data) : textOf(data))
      })
      listen('close', lost)
      listen('error', lost)
    },
    close: () => { socket.close() },
  }
}

function lines({ input, output }: StreamPair, maxBytes: number): TextPort {
  return {
    send: text => { output.write(`${text}\n`) },
    start: ({ message, lost }) => {
      const decoder = new StringDecoder('utf8')
      let rest = ''
      input.on('data', (chunk: Buffer | string) => {
        const parts = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n')
        rest = parts.pop() ?? ''
        for (const line of parts) if (line !== '') message(line)
        // A line without end is reported as it stands, so that its size is judged where all sizes are.
        if (rest.length > maxBytes) message(rest)
      })
      for (const event of ['end', 'close', 'error'] as const) input.on(event, lost)
      output.on('error', lost)
      output.on('close', lost)
    },
    close: () => {
      output.end()
      input.pause()
    },
  }
}
