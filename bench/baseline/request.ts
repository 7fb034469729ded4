/** From an HTTP request to a validated `RunAgentInput`. */
import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

import { RunAgentInputSchema } from '@ag-ui/core'
import type { RunAgentInput } from '@ag-ui/core'

import type { BaselineConfig } from './config.ts'
import { sha256 } from './digest.ts'
import { GatewayError } from './errors.ts'

export interface Principal {
  readonly tenant: string
  readonly user: string
}

export interface RunRequest {
  readonly principal: Principal
  readonly input: RunAgentInput
  /** Digest of the exact body, for the idempotency of `runId`. */
  readonly digest: string
}

/**
 * Authenticates, reads and validates one request.
 *
 * @throws GatewayError for whatever the client did wrong.
 */
export async function readRunRequest(req: IncomingMessage, config: BaselineConfig): Promise<RunRequest> {
  if (req.method !== 'POST') throw new GatewayError(405, 'METHOD_NOT_ALLOWED', 'only POST is served here')
  const principal = authenticate(req, config)
  if (mediaType(req) !== 'application/json') {
    throw new GatewayError(415, 'UNSUPPORTED_MEDIA_TYPE', 'content-type must be application/json')
  }
  const body = await readBody(req, config.maxRequestBytes)
  const input = parseInput(body)
  checkLimits(input, config)
  return { principal, input, digest: sha256(body) }
}

function authenticate(req: IncomingMessage, config: BaselineConfig): Principal {
  const given = Buffer.from(req.headers.authorization ?? '')
  const wanted = Buffer.from(`Bearer ${config.sharedSecret}`)
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    throw new GatewayError(401, 'UNAUTHORIZED', 'bearer token required')
  }
  const tenant = req.headers[config.tenantHeader]
  const user = req.headers[config.userHeader]
  checkIdentity('tenant', tenant, config)
  checkIdentity('user', user, config)
  return { tenant, user }
}

const IDENTITY = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/

function checkIdentity(name: string, value: unknown, config: BaselineConfig): asserts value is string {
  if (typeof value !== 'string' || !IDENTITY.test(value) || value.length > config.maxIdentityBytes) {
    throw new GatewayError(400, 'INVALID_IDENTITY', `${name} is not a valid identity`)
  }
}

function mediaType(req: IncomingMessage): string | undefined {
  return req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
}

async function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  const tooLarge = () => new GatewayError(413, 'REQUEST_TOO_LARGE', `request body exceeds ${limit} bytes`)
  if (Number(req.headers['content-length']) > limit) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > limit) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseInput(body: Buffer): RunAgentInput {
  let json: unknown
  try {
    json = JSON.parse(body.toString('utf8'))
  } catch {
    throw new GatewayError(400, 'INVALID_AGUI_INPUT', 'request body is not JSON')
  }
  const parsed = RunAgentInputSchema.safeParse(json)
  if (!parsed.success) throw new GatewayError(400, 'INVALID_AGUI_INPUT', parsed.error.message)
  return parsed.data
}

function checkLimits(input: RunAgentInput, config: BaselineConfig): void {
  checkIdentity('threadId', input.threadId, config)
  checkIdentity('runId', input.runId, config)
  if (input.parentRunId !== undefined) checkIdentity('parentRunId', input.parentRunId, config)

  checkCount(input.messages, config.maxMessages, 'MESSAGE_LIMIT_EXCEEDED')
  checkBytes(input.messages, config.maxMessageBytes, 'MESSAGE_LIMIT_EXCEEDED')
  checkCount(input.context, config.maxContexts, 'CONTEXT_LIMIT_EXCEEDED')
  checkBytes(input.context, config.maxContextBytes, 'CONTEXT_LIMIT_EXCEEDED')
  checkCount(input.tools, config.maxTools, 'TOOL_LIMIT_EXCEEDED')
  checkBytes(input.tools, config.maxToolBytes, 'TOOL_LIMIT_EXCEEDED')
  checkBytes(input.forwardedProps, config.maxForwardedPropsBytes, 'FORWARDED_PROPS_LIMIT_EXCEEDED')
  checkBytes(input.state, config.maxStateBytes, 'STATE_LIMIT_EXCEEDED')
}

function checkCount(items: readonly unknown[], limit: number, code: string): void {
  if (items.length > limit) throw new GatewayError(413, code, `more than ${limit} entries`)
}

function checkBytes(value: unknown, limit: number, code: string): void {
  if (value === undefined) return
  if (Buffer.byteLength(JSON.stringify(value)) > limit) throw new GatewayError(413, code, `more than ${limit} bytes`)
}
