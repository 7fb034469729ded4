/** `@dsh-std/presentation` as it is published: its subpaths, its examples, its documentation. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'node:test'

const folder = new URL('../../packages/presentation/', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8')

const outputs: Record<string, string[]> = {
  operations: ['example.plugin: Paste the address into a browser', 'the address is in the clipboard', "[ 'https://example.test/device' ]"],
  interaction: ['deployed to staging with 13 characters', 'permission-denied'],
  callback: ['the browser is sent to 127.0.0.1', 'code abc'],
  attach: ['shown: Hello', 'screen-1 submitted', 'channel-closed'],
}

describe('examples', () => {
  for (const [name, lines] of Object.entries(outputs)) {
    it(`${name} runs, ends by itself, and stands in both READMEs`, () => {
      const file = `examples/${name}.ts`
      const { stdout, stderr, status } = spawnSync(process.execPath, [fileURLToPath(new URL(file, folder))], { encoding: 'utf8', timeout: 20_000 })
      assert.equal(status, 0, stderr)
      assert.deepEqual(stdout.trimEnd().split('\n'), lines)
      for (const readme of ['README.md', 'README.zh.md']) {
        assert.ok(read(readme).includes(`\`\`\`ts\n${read(file)}\`\`\``), `${readme} has ${file} as it is`)
      }
    })
  }
})

describe('subpaths', () => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { types: string, default: string } | string> }
  it('re-export the same modules of the root package, and nothing else', async () => {
    for (const [subpath, target] of Object.entries(exports)) {
      if (typeof target === 'string') continue
      const own = await import(new URL(target.default, folder).href)
      const root = await import(`dsh-ag-ui/presentation${subpath.slice(1)}`)
      assert.deepEqual(Object.keys(own), Object.keys(root), subpath)
      for (const name of Object.keys(own)) assert.equal(own[name], root[name])
      assert.equal(read(target.types), read(target.default))
    }
  })
})
