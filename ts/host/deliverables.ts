/**
 * Declared deliverables, read through the file system of the agent that declared them (G15, host-api §3.13, §3.14).
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { HostError, serviceMissing, translated } from './error.ts'
import type { HostErrorCode } from './error.ts'

/** The part of `ctx.fs` that we use, alike in every generation. */
interface FileSystem {
  lstat(path: string, options: { cwd?: string }, signal: AbortSignal): Promise<{ type: string } | undefined>
  resolve(path: string, options: { cwd?: string, signal: AbortSignal }): Promise<object>
  stat(target: object, signal: AbortSignal): Promise<{ type: string, size?: number } | undefined>
  readBytes(target: object, signal: AbortSignal, maxBytes: number): Promise<Uint8Array>
}

/** What a file system says of a file that it does not give, in the gateway's words. */
const CODES: Readonly<Record<string, HostErrorCode>> = {
  FS_NOT_FOUND: 'FILE_NOT_FOUND',
  FS_NOT_DIRECTORY: 'FILE_NOT_FOUND',
  FS_NOT_REGULAR_FILE: 'FILE_NOT_FOUND',
  FS_PERMISSION_DENIED: 'FILE_FORBIDDEN',
  FS_SANDBOX_DENIED: 'FILE_FORBIDDEN',
  FS_TOO_LARGE: 'FILE_TOO_LARGE',
}

/** One read. */
interface Wanted {
  readonly path: string
  readonly maxBytes: number
  readonly signal: AbortSignal
}

/**
 * Reads a file as it is now.
 *
 * @param ctx - The plugin's own context.
 * @param agent - The agent whose file system and working directory count.
 * @param wanted - Which file, and how much of it at most.
 * @throws A {@link HostError}, or what the file system throws that has no code of ours.
 */
export async function readDeliverable(ctx: Context, agent: Agent, wanted: Wanted): Promise<Uint8Array> {
  const fs = fileSystemOf(ctx, agent)
  if (fs === undefined) throw serviceMissing('file system')
  try {
    return await read(fs, agent.session.header.cwd, wanted)
  } catch (error) {
    throw translated(error, CODES, 'the file system does not give the file')
  }
}

/** The file system of the agent's preset, where that has one of its own; else the Host's. */
function fileSystemOf(ctx: Context, agent: Agent): FileSystem | undefined {
  const presets = ctx.get('agentPresets') as { serviceFor?(agent: Agent, name: string): unknown } | undefined
  return (presets?.serviceFor?.(agent, 'fs') ?? ctx.get('fs')) as FileSystem | undefined
}

async function read(fs: FileSystem, cwd: string | undefined, { path, maxBytes, signal }: Wanted): Promise<Uint8Array> {
  const base = cwd === undefined ? {} : { cwd }
  // What a link names was never declared.
  const entry = await fs.lstat(path, base, signal)
  if (entry?.type !== 'file') throw new HostError('FILE_NOT_FOUND', 'the declared file is not there')
  const target = await fs.resolve(path, { ...base, signal })
  const info = await fs.stat(target, signal)
  if (info?.type !== 'file') throw new HostError('FILE_NOT_FOUND', 'the declared file is not there')
  if (info.size !== undefined && info.size > maxBytes) throw new HostError('FILE_TOO_LARGE', 'the declared file is too large')
  return await fs.readBytes(target, signal, maxBytes)
}
