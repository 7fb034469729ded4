/**
 * The native core, as `index.d.ts` declares it. Everything here imports it from this module, so that a missing binary
 * is one clear error.
 *
 * @module
 */

import './addon.ts'

export * from '../index.js'
