/**
 * A plain TypeScript AG-UI gateway for DSH: the yardstick of the benchmarks. `@ag-ui/core` validates requests,
 * `@ag-ui/encoder` writes events, the Host's `node:http` server serves the route. See ../README.md for what it
 * leaves out.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-agent'
import type {} from '@deepseek-ai/dsh-host-webserver'
import type {} from '@deepseek-ai/dsh-tools'

import { resolveConfig } from './config.ts'
import type { BaselineConfig, BaselineOptions } from './config.ts'
import { GatewayError } from './errors.ts'
import { readRunRequest } from './request.ts'
import { Threads } from './threads.ts'

/** Cordis plugin. */
export const BaselineGateway = {
  name: 'baseline-ag-ui',
  inject: ['agents', 'tools', 'webServer'],
  apply(ctx: Context, options: BaselineOptions): void {
    const config = resolveConfig(options)
    const threads = new Threads(ctx, config)
    ctx.effect(() => () => threads.dispose(), 'threads')
    ctx.effect(() => ctx.webServer.register({
      kind: 'exact',
      path: config.path,
      handler: (req, res) => handle(req, res, threads, config),
    }), 'route')
  },
}

async function handle(req: IncomingMessage, res: ServerResponse, threads: Threads, config: BaselineConfig): Promise<void> {
  try {
    const request = await readRunRequest(req, config)
    const thread = await threads.open(request.principal, request.input.threadId)
    const { run, isNew } = thread.admit(request)
    if (isNew) res.once('close', () => thread.abandon(run))
    await run.stream(res)
  } catch (error) {
    if (res.headersSent) throw error
    refuse(res, error instanceof GatewayError ? error : new GatewayError(500, 'AGENT_EXECUTION_ERROR', 'the request failed'))
  }
}

function refuse(res: ServerResponse, { status, code, message }: GatewayError): void {
  res.writeHead(status, { 'content-type': 'application/json', ...status === 405 ? { allow: 'POST' } : {} })
  res.end(JSON.stringify({ code, message }))
}
