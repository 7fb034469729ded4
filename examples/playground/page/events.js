// @ts-check
/**
 * Reading an AG-UI event stream: `text/event-stream` with one JSON event in the data of each frame.
 *
 * @module
 */

/** @typedef {{ readonly type: string, readonly [field: string]: any }} AgUiEvent */

/** What a request was refused with, before any stream began. */
export class RequestRefused extends Error {
  /**
   * @param {number} status HTTP status.
   * @param {string} code Stable code of the gateway or the BFF.
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message)
    this.name = 'RequestRefused'
    this.status = status
    this.code = code
  }
}

/**
 * Posts a run and yields its events as they come.
 *
 * @param {string} url
 * @param {unknown} body Serialised as JSON.
 * @param {AbortSignal} signal
 * @returns {AsyncGenerator<AgUiEvent, void>}
 * @throws {RequestRefused} When the answer is not a stream.
 * @throws {SyntaxError} When a frame is not JSON.
 */
export async function* postRun(url, body, signal) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept': 'text/event-stream' },
    body: JSON.stringify(body),
    signal,
  })
  if (!response.ok || response.body === null) throw await refusal(response)
  yield* readEvents(response.body)
}

/**
 * Splits a body into frames and parses the data of each.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<AgUiEvent, void>}
 */
export async function* readEvents(body) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true })
      const frames = rest.split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        const event = parseFrame(frame)
        if (event !== undefined) yield event
      }
      if (done) return
    }
  } finally {
    // Whoever stops early closes the connection with it: that is how a run is cancelled.
    await reader.cancel().catch(() => undefined)
  }
}

/**
 * @param {string} frame
 * @returns {AgUiEvent | undefined} `undefined` for a comment or a frame without data.
 */
function parseFrame(frame) {
  const data = frame.split('\n').filter(line => line.startsWith('data:')).map(line => line.slice(5).trimStart())
  return data.length === 0 ? undefined : JSON.parse(data.join('\n'))
}

/** @param {Response} response */
async function refusal(response) {
  const text = await response.text()
  try {
    const { code, message } = JSON.parse(text)
    return new RequestRefused(response.status, String(code), String(message))
  } catch {
    // Not the JSON that the gateway and the BFF promise: something between us and them answered.
    return new RequestRefused(response.status, 'UNEXPECTED_ANSWER', text.slice(0, 200) || response.statusText)
  }
}
