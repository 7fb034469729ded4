/**
 * What `pnpm start` runs: builds what is stale, then becomes the playground of `main.ts`.
 *
 * @module
 */

import { ensureBuilt } from './build.ts'
import { watchLauncher } from './launcher.ts'

await watchLauncher(() => process.kill(process.pid, 'SIGTERM'))
try {
  await ensureBuilt()
} catch (error) {
  console.error(`playground: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
await import('./main.ts')
