/**
 * Configuration of the `ctx.agUi` service (spec: gateway, 配置).
 *
 * @module
 */

import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import z from '@deepseek-ai/schemastery'

/** The configuration as a profile gives it; sizes in bytes, times in milliseconds. */
export interface Config {
  /** Route base on the Host's web server. */
  readonly path: string
  /** Registered DSH model provider route. */
  readonly provider: string
  /** Model id of that provider. */
  readonly model: string
  /** Where thread workspaces live; `<DSH_HOME>/workspaces` when absent. */
  readonly workspaceRoot?: string
  /** Preset that threads are composed from. */
  readonly agentPreset?: string
  /** Preset by tenant, over `agentPreset`. */
  readonly tenantPresets: Readonly<Record<string, string>>
  /** Presets that a tenant's blank threads may choose from, by tenant. */
  readonly selectableAgentPresets: Readonly<Record<string, string[]>>
  /** Bearer secret shared with the trusted BFF only; at least 16 UTF-8 bytes. */
  readonly sharedSecret: string
  /** Trusted header that names the tenant. */
  readonly tenantHeader: string
  /** Trusted header that names the user. */
  readonly userHeader: string
  /** Lets the gateway run on a Host that binds beyond loopback. */
  readonly allowNonLoopback: boolean
  readonly maxRequestBytes: number
  readonly maxFileBytes: number
  readonly maxIdentityBytes: number
  readonly maxMessages: number
  readonly maxMessageBytes: number
  readonly maxFilesPerMessage: number
  readonly maxContexts: number
  readonly maxContextBytes: number
  readonly maxTools: number
  readonly maxToolBytes: number
  readonly maxToolSchemaDepth: number
  readonly maxForwardedPropsBytes: number
  readonly maxStateBytes: number
  readonly maxThreads: number
  readonly threadIdleMs: number
  readonly frontendToolTimeoutMs: number
  readonly humanInteractionTimeoutMs: number
  readonly maxPendingInterrupts: number
  readonly maxRunEvents: number
  readonly maxRunEventBytes: number
  readonly maxRunsPerThread: number
  /** How long a run that nobody reads any more goes on; 0 cancels it at once. */
  readonly reconnectGraceMs: number
  /** Least time between two writes of deltas of one stream; 0 writes each by itself. */
  readonly flushIntervalMs: number
  /** Silence after which a comment frame is sent. */
  readonly keepAliveMs: number
  /** Whether schemas of browser Tools are brought into DSH's subset, or must be in it. */
  readonly toolSchemas: 'strict' | 'normalize'
}

/** The configuration as a profile or a program writes it: what has a default may be left out. */
export type ConfigInput = Pick<Config, 'provider' | 'model' | 'sharedSecret'> & Partial<Config>

/** The schema: shapes and defaults. Ranges are checked natively, when the service starts. */
export const Config: z<ConfigInput, Config> = z.object({
  path: z.string().default('/ag-ui').description('Route base on the Host web server.'),
  provider: z.string().required().description('Registered DSH model provider route.'),
  model: z.string().required().description('Model id of that provider.'),
  workspaceRoot: z.string().description('Where thread workspaces live; absolute. Default: <DSH_HOME>/workspaces.'),
  agentPreset: z.string().description('Preset that threads are composed from.'),
  tenantPresets: z.dict(z.string()).default({}).description('Preset by tenant, over agentPreset.'),
  selectableAgentPresets: z.dict(z.array(z.string())).default({}).description('Presets that blank threads may choose from, by tenant.'),
  sharedSecret: z.string().required().role('secret').description('Bearer secret shared with the trusted BFF only; at least 16 UTF-8 bytes.'),
  tenantHeader: z.string().default('x-dsh-tenant-id').description('Trusted header that names the tenant.'),
  userHeader: z.string().default('x-dsh-user-id').description('Trusted header that names the user.'),
  allowNonLoopback: z.boolean().default(false).description('Allow a Host that binds beyond loopback.'),
  maxRequestBytes: z.natural().default(262_144).description('Largest request body.'),
  maxFileBytes: z.natural().default(104_857_600).description('Largest uploaded or delivered file.'),
  maxIdentityBytes: z.natural().default(256).description('Longest id.'),
  maxMessages: z.natural().default(256).description('Messages in a request.'),
  maxMessageBytes: z.natural().default(524_288).description('JSON of all messages.'),
  maxFilesPerMessage: z.natural().default(8).description('Parts of one user message that are not text.'),
  maxContexts: z.natural().default(32).description('Context entries in a request.'),
  maxContextBytes: z.natural().default(131_072).description('JSON of all context entries.'),
  maxTools: z.natural().default(32).description('Browser Tools in a request.'),
  maxToolBytes: z.natural().default(131_072).description('JSON of all browser Tools.'),
  maxToolSchemaDepth: z.natural().default(16).description('Depth of a browser Tool schema.'),
  maxForwardedPropsBytes: z.natural().default(65_536).description('JSON of forwardedProps.'),
  maxStateBytes: z.natural().default(65_536).description('JSON of the shared state.'),
  maxThreads: z.natural().default(100).description('Live threads.'),
  threadIdleMs: z.natural().default(1_800_000).description('Idle time after which a thread is released.'),
  frontendToolTimeoutMs: z.natural().default(300_000).description('Longest wait for a browser Tool result.'),
  humanInteractionTimeoutMs: z.natural().default(300_000).description('Longest wait for an answer to a question or an approval.'),
  maxPendingInterrupts: z.natural().default(16).description('Questions and approvals of a thread that may wait at once.'),
  maxRunEvents: z.natural().default(4096).description('Events that a run retains.'),
  maxRunEventBytes: z.natural().default(2_097_152).description('Bytes that a run retains.'),
  maxRunsPerThread: z.natural().default(32).description('Retained runs of a thread, and requests that may wait for it.'),
  reconnectGraceMs: z.natural().default(0).description('How long a run that nobody reads any more goes on.'),
  flushIntervalMs: z.natural().default(8).description('Least time between two writes of deltas of one stream.'),
  keepAliveMs: z.natural().default(15_000).description('Silence after which a comment frame is sent.'),
  toolSchemas: z.union([z.const('strict'), z.const('normalize')]).default('normalize').description('Treatment of browser Tool schemas outside DSH\'s subset.'),
})

/** Fields that the native gateway does not know. */
type HostField = 'provider' | 'model' | 'workspaceRoot' | 'agentPreset' | 'tenantPresets' | 'allowNonLoopback'

/**
 * The native gateway's part of the configuration, as JSON.
 *
 * @throws When no provider or no model is named.
 */
export function nativeConfig(config: Config): string {
  for (const field of ['provider', 'model'] as const) {
    if (config[field].trim() === '') throw new Error(`invalid config: ${field} must not be empty`)
  }
  const { provider: _p, model: _m, workspaceRoot: _w, agentPreset: _a, tenantPresets: _t, allowNonLoopback: _l, ...native } = config
  native satisfies Omit<Config, HostField>
  return JSON.stringify(native)
}

/**
 * Where thread workspaces live.
 *
 * @throws When `workspaceRoot` is given and not absolute.
 */
export function workspaceRoot(config: Config): string {
  if (config.workspaceRoot === undefined) {
    const home = process.env['DSH_HOME']?.trim()
    return join(home === undefined || home === '' ? join(homedir(), '.dsh') : home, 'workspaces')
  }
  if (!isAbsolute(config.workspaceRoot)) throw new Error('invalid config: workspaceRoot must be an absolute path')
  return config.workspaceRoot
}
