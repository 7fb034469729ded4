/**
 * The one place where the playground touches the package that it shows: what every DSH Host does to have the gateway.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'

import AgUi from 'dsh-ag-ui'

/** The gateway's configuration, as far as the playground sets it. */
export interface GatewayConfig {
  readonly provider: string
  readonly model: string
  readonly sharedSecret: string
  readonly path: string
  readonly workspaceRoot: string
}

/** Mounts the gateway on the Host's web server. */
export async function mountGateway(ctx: Context, config: GatewayConfig): Promise<void> {
  await ctx.plugin(AgUi, config)
}
