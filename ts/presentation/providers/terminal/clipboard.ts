/**
 * The user's clipboard: the platform's own command, or OSC 52, which asks the terminal to take the text and so works
 * over SSH.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { isRemote } from './launch.ts'

/** A command that puts its standard input on the clipboard. */
export interface ClipboardCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly encoding: 'utf8' | 'utf16le'
}

/** A way to the clipboard. */
export type ClipboardRoute = 'osc-52' | ClipboardCommand

/** Terminals take about 100,000 characters of Base64; more is dropped without a word. */
const MAX_OSC_52_BYTES = 74_994

/** The ways that exist here, best first. */
export function clipboardRoutes(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): ClipboardRoute[] {
  const commands = platformCommands(platform, env)
  const terminal: ClipboardRoute[] = takesOsc52(env) ? ['osc-52'] : []
  return isRemote(env) ? [...terminal, ...commands] : [...commands, ...terminal]
}

/** Terminals do not say; those known not to take it are left out. */
function takesOsc52(env: NodeJS.ProcessEnv): boolean {
  const term = env['TERM'] ?? ''
  return term !== '' && term !== 'dumb' && term !== 'linux'
}

function platformCommands(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): ClipboardCommand[] {
  const utf8 = (file: string, ...args: string[]): ClipboardCommand => ({ file, args, encoding: 'utf8' })
  const windows: ClipboardCommand = { file: 'clip.exe', args: [], encoding: 'utf16le' }
  if (platform === 'win32') return [windows]
  if (platform === 'darwin') return isRemote(env) ? [] : [utf8('pbcopy')]
  return [
    ...(env['WAYLAND_DISPLAY'] ? [utf8('wl-copy')] : []),
    ...(env['DISPLAY'] ? [utf8('xclip', '-selection', 'clipboard', '-in'), utf8('xsel', '--clipboard', '--input')] : []),
    ...(env['WSL_DISTRO_NAME'] ? [windows] : []),
  ]
}

/** The sequence for a text, or nothing when it is too long for it. */
export function osc52(text: string): string | undefined {
  const bytes = Buffer.from(text)
  return bytes.length > MAX_OSC_52_BYTES ? undefined : `\x1b]52;c;${bytes.toString('base64')}\x07`
}

/** Runs a command without a shell. False when it is missing or fails. */
export function runClipboardCommand({ file, args, encoding }: ClipboardCommand, text: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  // Output is not read: some of these stay in the background and would keep a pipe open.
  const child = spawn(file, args, { stdio: ['pipe', 'ignore', 'ignore'], windowsHide: true })
  child.once('error', () => resolve(false))
  child.once('exit', code => resolve(code === 0))
  // A command that does not read to the end tells by its exit code.
  child.stdin.on('error', () => {})
  child.stdin.end(text, encoding)
  return promise
}
