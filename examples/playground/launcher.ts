/**
 * Whether the package manager that started this process is still there.
 *
 * `npx pnpm start` puts shells between npm, pnpm and us, and a shell that is terminated does not pass the signal on.
 * Without this the playground would outlive its own command.
 *
 * @module
 */

import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'

const INTERVAL_MILLISECONDS = 500
const PACKAGE_MANAGER = /^(?:npm|npx|pnpm|yarn|corepack)(?:-cli|-exec)?(?:\.[cm]?js)?$/

/** Calls `gone` once, when a process between us and the outermost package manager has ended. */
export async function watchLauncher(gone: () => void): Promise<void> {
  const watched = await launchers()
  const timer = setInterval(() => {
    if (watched.every(isAlive)) return
    clearInterval(timer)
    gone()
  }, INTERVAL_MILLISECONDS)
  timer.unref()
}

/**
 * Our ancestors up to the outermost package manager. A shell that a person or a script started it from is not among
 * them: that one may end and leave us running. Where the system has no `/proc`, just our parent.
 */
async function launchers(): Promise<number[]> {
  const ancestors: number[] = []
  let outermost = 1
  for (let pid = process.ppid; pid > 1;) {
    ancestors.push(pid)
    try {
      // The command stands in parentheses and may itself contain some; the state and the parent follow the last one.
      const status = await readFile(`/proc/${pid}/stat`, 'utf8')
      const parent = Number(status.slice(status.lastIndexOf(')') + 2).split(' ')[1])
      if (isPackageManager(await readFile(`/proc/${pid}/cmdline`, 'utf8'))) outermost = ancestors.length
      pid = parent
    } catch {
      break // No /proc, or the ancestor has just ended, which the watch will notice.
    }
  }
  return ancestors.slice(0, outermost)
}

/** @param cmdline - Arguments separated by NUL; a process that set its title has it in the first. */
function isPackageManager(cmdline: string): boolean {
  const [program = '', script = ''] = cmdline.split('\0')
  const name = basename(program.split(' ', 1)[0] ?? '')
  return PACKAGE_MANAGER.test(name)
    || (/^(?:node|sh)/.test(name) && script.startsWith('/') && PACKAGE_MANAGER.test(basename(script)))
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
