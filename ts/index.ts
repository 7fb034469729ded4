/**
 * `dsh-ag-ui`: the AG-UI gateway as a Cordis service, `ctx.agUi`.
 *
 * @module
 */

import { join } from 'node:path'
import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import type {} from '@deepseek-ai/dsh-host-webserver'
import { Config, nativeConfig, workspaceRoot } from './gateway/config.ts'
import { GatewayDriver } from './gateway/driver.ts'
import type { ThreadIdentity } from './gateway/driver.ts'
import { createHandler } from './gateway/route.ts'
import { createDshHost, DSH_HOST_SERVICES } from './host/index.ts'

declare module '@deepseek-ai/cordis' {
  interface Context {
    /** The AG-UI gateway. */
    agUi: AgUi
  }
}

/**
 * The AG-UI gateway of a DSH Host: mounts its route on the Host's web server and binds each thread to an agent
 * (spec: gateway, 架构).
 */
class AgUi extends Service {
  static inject = [...DSH_HOST_SERVICES, 'webServer']
  static Config = Config
  // Not `#private`: other contexts call methods through a proxy of the service.
  private readonly self: Context
  private readonly options: Config
  private driver: GatewayDriver | undefined

  /** @internal Made by `ctx.plugin`. */
  constructor(ctx: Context, config: Config) {
    super(ctx, 'agUi')
    this.self = ctx
    this.options = config
  }

  /**
   * Whose thread an agent belongs to.
   *
   * @param agent - An agent as a Tool's execution names it.
   * @returns Principal and thread id for the exact live root agent of a thread, `undefined` for every other.
   */
  identityFor(agent: object): ThreadIdentity | undefined {
    return this.driver?.identityFor(agent)
  }

  /** Starts the gateway; the disposers run in reverse, each awaited. */
  async* [Service.init](): AsyncGenerator<() => void | Promise<void>> {
    const ctx = this.self
    const config = this.options
    if (ctx.webServer.host !== '127.0.0.1' && !config.allowNonLoopback) {
      throw new Error('dsh-ag-ui: the Host binds beyond loopback; set allowNonLoopback to accept that')
    }
    const root = workspaceRoot(config)
    await this.checkPresets()
    const host = createDshHost(ctx, { provider: config.provider, model: config.model })
    const driver = new GatewayDriver(nativeConfig(config), host, {
      workspace: sessionId => join(root, sessionId),
      preset: tenantId => Object.hasOwn(config.tenantPresets, tenantId) ? config.tenantPresets[tenantId] : config.agentPreset,
    }, ctx.logger)
    this.driver = driver
    // A web server breaks its connections off when it goes, beside or before the disposers below: the runs must have
    // ended by then. Cordis tells of a state when it changes, and unloads in a later microtask.
    ctx.on('internal/status', () => {
      if (ctx.get('webServer') === undefined) void driver.shutdown()
    }, { global: true })
    yield async () => {
      await driver.shutdown()
      this.driver = undefined
    }
    const { path, tenantHeader, userHeader } = config
    const handler = createHandler(driver, { path, tenantHeader, userHeader })
    yield ctx.webServer.register({ kind: 'prefix', path, handler })
  }

  /** A preset that nobody knows must fail the activation, not the first thread (G17). */
  private async checkPresets(): Promise<void> {
    const { agentPreset, tenantPresets, selectableAgentPresets } = this.options
    const ids = new Set([
      ...agentPreset === undefined ? [] : [agentPreset], ...Object.values(tenantPresets), ...Object.values(selectableAgentPresets).flat(),
    ])
    if (ids.size === 0) return
    const presets = this.self.get('agentPresets') as { resolve(id: string): Promise<{ readonly broken?: string } | undefined> } | undefined
    if (presets === undefined) throw new Error('dsh-ag-ui: presets are configured, but the Host has no agentPresets service')
    for (const id of ids) {
      const preset = await presets.resolve(id)
      if (preset?.broken !== undefined) throw new Error(`dsh-ag-ui: preset "${id}" is broken: ${preset.broken}`)
    }
  }
}

export default AgUi
export { AgUi }
export type { Config, ConfigInput } from './gateway/config.ts'
export { GatewayDriver } from './gateway/driver.ts'
export type { DriverLogger, OpenOptions, ThreadIdentity } from './gateway/driver.ts'
export { createHandler } from './gateway/route.ts'
export type { RouteOptions } from './gateway/route.ts'
export type * from './host/port.ts'
