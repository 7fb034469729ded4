/**
 * Opening a page in the user's browser, without a shell: the launcher passes the URI as one argument.
 *
 * @module
 */

import open from 'open'

/** Hands an HTTP(S) URI to the user's environment; rejects when nothing takes it. */
export type Launcher = (uri: string) => Promise<unknown>

export const openInBrowser: Launcher = uri => open(uri)

/** Whether a browser that is started here appears before the user. */
export function hasGraphicalEnvironment(platform: NodeJS.Platform, env: NodeJS.ProcessEnv): boolean {
  if (env['DISPLAY'] || env['WAYLAND_DISPLAY']) return true
  if (isRemote(env)) return false
  return platform === 'darwin' || platform === 'win32' || Boolean(env['WSL_DISTRO_NAME'])
}

/** Whether the user sits at another machine. */
export function isRemote(env: NodeJS.ProcessEnv): boolean {
  return Boolean(env['SSH_CONNECTION'] || env['SSH_TTY'])
}
