/** A secret is handed to its consumer and appears nowhere else (P9). The Rust side's buffers: `tests/presentation_secrets.rs`. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { it } from 'node:test'

it('no error, report, observation or inspection shows a secret', () => {
  const secret = 'correct-horse-battery-staple'
  const child = fileURLToPath(new URL('./secrets-child.ts', import.meta.url))
  const { stdout, stderr, status } = spawnSync(process.execPath, [child, secret], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /delivered 2$/m)
  assert.match(stdout, /SecretInput value\.secret/)
  for (const form of [secret, Buffer.from(secret).toString('hex'), Buffer.from(secret).toString('base64')]) {
    assert.ok(!stdout.includes(form) && !stderr.includes(form), 'the secret was printed')
  }
})
