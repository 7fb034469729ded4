/** What is mounted on the Host, by arm. */
import { join } from 'node:path'

import type { Context } from '@deepseek-ai/cordis'

import { BaselineGateway } from '../baseline/index.ts'
import { MODEL } from './host.ts'

/**
 * `direct`: no gateway, the Host is driven in process. `baseline`: the plain TypeScript gateway. `ours`: `dsh-ag-ui`
 * on the Host's route.
 */
export type Arm = 'direct' | 'baseline' | 'ours'

/** Arms that answer HTTP. */
export const GATEWAY_ARMS = ['baseline', 'ours'] as const satisfies readonly Arm[]

/** Limits that both gateways take under the same names; the default where absent. */
export interface Limits {
  readonly maxRequestBytes?: number
  readonly maxMessages?: number
  readonly maxMessageBytes?: number
  readonly maxRunEvents?: number
  readonly maxRunEventBytes?: number
}

export const ROUTE = '/ag-ui'
export const SECRET = 'bench-secret-0123456789'
/** What a trusted caller adds to a request. */
export const CREDENTIALS = { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'bench', 'x-dsh-user-id': 'bench' }
/** Headers that every request carries. */
export const HEADERS = { ...CREDENTIALS, 'content-type': 'application/json', 'accept': 'text/event-stream' }

/** Mounts an arm's gateway on the Host. */
export async function mount(arm: Arm, ctx: Context, home: string, limits: Limits): Promise<void> {
  const config = { ...MODEL, ...limits, sharedSecret: SECRET, path: ROUTE, workspaceRoot: join(home, 'workspaces') }
  switch (arm) {
    case 'direct': return
    case 'baseline':
      await ctx.plugin(BaselineGateway, config)
      return
    case 'ours': {
      const { default: AgUi } = await import('dsh-ag-ui') as { default?: new (ctx: Context, config: object) => unknown }
      if (AgUi === undefined) throw new Error('dsh-ag-ui has no default export: build the package first')
      await ctx.plugin(AgUi, config)
    }
  }
}
