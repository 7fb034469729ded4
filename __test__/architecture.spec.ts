/** The arrows between the rooms point one way (CONTRIBUTING.md). */

import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** Rooms that are values and rules only. */
const PURE = ['agui', 'session', 'projection', 'gateway', 'tools', 'presentation']

/** Files of a pattern with their code; comments may name anything. */
function sources(pattern: string): [file: string, code: string][] {
  return globSync(pattern, { cwd: ROOT }).map(file =>
    [file, readFileSync(join(ROOT, file), 'utf8').replaceAll(/\/\*[^]*?\*\/|(?<!:)\/\/.*$/gm, '')])
}

test('pure rooms know no runtime, no socket and no JavaScript', () => {
  for (const room of PURE.filter(room => existsSync(join(ROOT, 'src', room)))) {
    const files = sources(`src/${room}/**/*.rs`)
    assert.ok(files.length > 0, room)
    for (const [file, code] of files) {
      assert.doesNotMatch(code, /\b(napi|napi_derive|tokio|axum|hyper)\b/, file)
      assert.doesNotMatch(code, /\bcrate::(bindings|listener|redirect)\b/, file)
    }
  }
})

test('the gateway stands in floors: what a request meets later imports what it has met', () => {
  const floors = [['config', 'digest', 'effect', 'error', 'event_id', 'head', 'ids', 'interrupts', 'notes', 'refusal', 'timer', 'url_key'],
    ['files'], ['http', 'request'], ['run', 'thread'], ['plan']]
  const floor = (room: string): number => floors.findIndex(rooms => rooms.includes(room)) + 1 || floors.length + 1
  const files = sources('src/gateway/**/*.rs').map(([file, code]) => [file.split(sep).slice(2), code] as const)
    .filter(([[room = '']]) => room !== 'mod.rs' && room !== 'tests')
  for (const room of floors.flat()) assert.ok(files.some(([[first]]) => first === room || first === `${room}.rs`), room)
  for (const [[first = '', ...inner], code] of files) {
    const room = first.replace('.rs', '')
    const [rules = ''] = code.split('#[cfg(test)]')
    // Words explain each other, and the machine's files are one value; elsewhere a floor holds rooms apart.
    const open = floor(room) === 1 || floor(room) > floors.length
    for (const [, other = ''] of rules.matchAll(inner.length === 0 ? /\bsuper::(\w+)/g : /\bcrate::gateway::(\w+)/g)) {
      assert.ok(floor(other) < floor(room) || room === other || (open && floor(other) === floor(room)), `${room} imports ${other}`)
    }
  }
})

test('only the bindings name napi, and only they are unsafe', () => {
  for (const [file, code] of sources('src/**/*.rs')) {
    if (file.startsWith(join('src', 'bindings'))) continue
    assert.doesNotMatch(code, /\bnapi(_derive)?\b/, file)
    assert.doesNotMatch(code, /\bunsafe\b|\bunsafe_code\b/, file)
  }
})

test('DSH is imported at run time in ts/host only', () => {
  for (const [file, code] of sources('ts/**/*.ts')) {
    if (file.startsWith(join('ts', 'host'))) continue
    assert.doesNotMatch(code, /^\s*(?:import|export)\s+(?!type\b)(?:[\w$*{},\s]+\sfrom\s+)?'@deepseek-ai\/dsh-/m, file)
    assert.doesNotMatch(code, /\bimport\(\s*'@deepseek-ai\/dsh-/, file)
  }
})

test('the addon is imported in one place, which says what is wrong when it is missing', () => {
  for (const [file, code] of sources('ts/**/*.ts')) {
    if (file === join('ts', 'native.ts')) continue
    assert.doesNotMatch(code, /'(?:\.\.\/)+index\.js'/, file)
  }
})
