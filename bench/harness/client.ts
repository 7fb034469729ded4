/**
 * The client process: posts bodies, counts what comes back, and notes when. It parses events only where a case asks
 * for verification, so that it never competes with the server for CPU.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:http'

import { serve } from './rpc.ts'

export interface PostRequest {
  readonly url: string
  readonly headers: Record<string, string>
  /** Lanes run at once; the bodies of one lane one after another. */
  readonly lanes: readonly (readonly string[])[]
  readonly reading: 'count' | 'parse'
}

/** What one response was. Times are milliseconds since the request was sent. */
export interface Reply {
  readonly status: number
  readonly headersMs: number
  readonly firstByteMs: number
  readonly totalMs: number
  readonly bytes: number
  readonly frames: number
  /** Type of the terminal event, or what the body ended with instead. */
  readonly terminal: string
  /** With `reading: 'parse'`: all events. */
  readonly events?: readonly Record<string, unknown>[]
}

export interface PostResult {
  readonly wallMs: number
  /** In the order of lanes, then bodies. */
  readonly replies: readonly Reply[]
}

export type ClientMethods = { post(argument: PostRequest): Promise<PostResult> }

const END_OF_FRAME = '\n\n'
const TAIL_BYTES = 1024
/** A response that takes longer never ends. */
const DEADLINE_MS = 120_000

async function post({ url, headers, lanes, reading }: PostRequest): Promise<PostResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: Infinity })
  const bodies = lanes.map(lane => lane.map(body => Buffer.from(body)))
  const start = performance.now()
  const replies = await Promise.all(bodies.map(async lane => {
    const results: Reply[] = []
    for (const body of lane) results.push(await send(url, headers, body, agent, reading))
    return results
  }))
  const wallMs = performance.now() - start
  agent.destroy()
  return { wallMs, replies: replies.flat() }
}

async function send(
  url: string, headers: Record<string, string>, body: Buffer, agent: Agent, reading: PostRequest['reading'],
): Promise<Reply> {
  const start = performance.now()
  const outgoing = request(url, {
    method: 'POST', agent, headers: { ...headers, 'content-length': body.length }, signal: AbortSignal.timeout(DEADLINE_MS),
  })
  const responded = once(outgoing, 'response')
  outgoing.end(body)
  const [response] = await responded
  const headersMs = performance.now() - start

  const chunks: Buffer[] = []
  let firstByteMs = Number.NaN
  let bytes = 0
  let frames = 0
  let tail = Buffer.alloc(0)
  response.on('data', (chunk: Buffer) => {
    if (bytes === 0) firstByteMs = performance.now() - start
    bytes += chunk.length
    for (let at = chunk.indexOf(END_OF_FRAME); at !== -1; at = chunk.indexOf(END_OF_FRAME, at + 2)) frames += 1
    tail = Buffer.concat([tail, chunk.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES)
    if (reading === 'parse') chunks.push(chunk)
  })
  await once(response, 'end')
  return {
    status: response.statusCode,
    headersMs, firstByteMs, totalMs: performance.now() - start,
    bytes, frames,
    terminal: terminalOf(tail.toString('utf8')),
    ...reading === 'parse' ? { events: parse(Buffer.concat(chunks).toString('utf8')) } : {},
  }
}

function terminalOf(tail: string): string {
  const last = tail.trimEnd().split(END_OF_FRAME).at(-1) ?? ''
  return /"type":"(RUN_FINISHED|RUN_ERROR)"/.exec(last)?.[1] ?? last
}

function parse(body: string): Record<string, unknown>[] {
  return body.split('\n').filter(line => line.startsWith('data:')).map(line => JSON.parse(line.slice(5)))
}

serve({ post } satisfies ClientMethods)
