/**
 * Makes sure that the native addon is there, before the generated loader looks for it: its own error is a chain of
 * failed lookups, this one says what is missing and what to do (N4). Import for its effect.
 *
 * @module
 */

import { createRequire } from 'node:module'

/** Platforms that packages are published for, as npm names them. */
const PREBUILT: readonly string[] = [
  'linux-x64-gnu', 'linux-arm64-gnu', 'linux-x64-musl', 'linux-arm64-musl', 'darwin-x64', 'darwin-arm64', 'win32-x64-msvc',
]

const require = createRequire(import.meta.url)

/** This platform, as the platform packages name it. */
function platformName(): string {
  const { platform, arch } = process
  if (platform === 'linux') return `linux-${arch}-${hasGlibc() ? 'gnu' : 'musl'}`
  if (platform === 'win32') return `win32-${arch}-msvc`
  return `${platform}-${arch}`
}

function hasGlibc(): boolean {
  const report: typeof process.report & { excludeNetwork?: boolean } = process.report
  const { excludeNetwork = false } = report
  // Looking up the names of open sockets can take seconds.
  report.excludeNetwork = true
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } }
  report.excludeNetwork = excludeNetwork
  return header.glibcVersionRuntime !== undefined
}

/**
 * Loads the addon from where the generated loader will find it.
 *
 * @throws An `Error` with `code` `NATIVE_ADDON_UNAVAILABLE`.
 */
function requireAddon(): void {
  const platform = platformName()
  const file = `dsh-ag-ui.${platform}.node`
  const override = process.env['NAPI_RS_NATIVE_LIBRARY_PATH']
  const places = override ? [override] : [`../${file}`, `dsh-ag-ui-${platform}`]
  let broken: unknown
  for (const place of places) {
    try {
      require(place)
      return
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') broken = error
    }
  }
  const build = 'build it from a checkout with "pnpm build:native" (needs cargo)'
  const advice = PREBUILT.includes(platform) ? `install the package dsh-ag-ui-${platform}, or ${build}` : `nothing is prebuilt for it; ${build}`
  const what = broken === undefined
    ? `is missing (looked for ${places.join(' and ')})`
    : `does not load (${broken instanceof Error ? broken.message : String(broken)})`
  throw Object.assign(new Error(`dsh-ag-ui: the native addon for ${platform} ${what}: ${advice}`, { cause: broken }), {
    code: 'NATIVE_ADDON_UNAVAILABLE',
  })
}

requireAddon()
