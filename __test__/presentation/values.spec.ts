/** Validation sees a value as JavaScript does, once (issue 3, item 1). */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import vm from 'node:vm'
import { revealText, validateCopyTextRequest, validateUserInteractionRequest } from 'dsh-ag-ui/presentation'
import { openExternalImplementation } from 'dsh-ag-ui/presentation/operations'
import { handle } from './foreign.ts'

const context = { requestId: 'r', invocationId: 'i', origin: 'plugin' }
const question = (field: object) => ({ ...context, kind: 'question', fields: [{ id: 'a', kind: 'text', label: 'A', ...field }] })
const message = (value: unknown) => {
  try {
    validateUserInteractionRequest(value)
    return 'ok'
  } catch (error) {
    assert.ok(error instanceof TypeError)
    assert.equal(error.name, 'TypeError')
    return error.message
  }
}

describe('values', () => {
  it('may be frozen, null-prototype, of another realm, or have undefined members', () => {
    const bare = Object.assign(Object.create(null), question({ description: undefined }))
    assert.equal(message(Object.freeze(bare)), 'ok')
    assert.equal(message(vm.runInNewContext(`(${JSON.stringify(question({}))})`)), 'ok')
    assert.equal(message({ ...question({}), title: undefined }), 'ok')
    assert.equal(message({ ...question({}), fields: undefined }), 'Question request.fields is required')
  })

  it('count own enumerable string keys only', () => {
    const inherited = Object.assign(Object.create({ kind: 'question', fields: [] }), context)
    assert.match(message(inherited), /^UserInteraction request\.kind must be one of/)
    const hidden = Object.defineProperty(question({}), 'extra', { value: 1, enumerable: false })
    assert.equal(message(hidden), 'ok')
    assert.equal(message({ ...question({}), [Symbol('s')]: 1 }), 'ok')
    assert.equal(message({ ...question({}), extra: null }), 'Question request contains unknown field "extra"')
  })

  it('that are no data are refused where they stand', () => {
    const at = 'Question request.fields[0].label'
    assert.equal(message(question({ label: () => 'x' })), `${at} must not be a function`)
    assert.equal(message(question({ label: Symbol('x') })), `${at} must not be a symbol`)
    assert.equal(message(question({ maxLength: 10n })), 'Question request.fields[0].maxLength must not be a bigint')
    assert.equal(message(question({ maxLength: Number.NaN })), 'Question request.fields[0].maxLength must be a finite number')
    assert.equal(message({ ...context, kind: 'question', fields: Object.assign(Array.from({ length: 2 }), { 1: question({}).fields[0] }) }), 'Question request.fields[0] must not be undefined')
    assert.equal(message(question({ toJSON: () => ({}) })), 'Question request.fields[0].toJSON must not be a function')
    assert.equal(message(question({ label: new String('A') })), `${at} must be a non-empty string`)
    const cyclic: Record<string, unknown> = question({})
    cyclic.fields = [cyclic]
    assert.match(message(cyclic), /is nested too deeply$/)
  })

  it('with an unpaired surrogate are refused with the path', () => {
    assert.equal(message(question({ label: 'a\ud800b' })), 'Question request.fields[0].label must not contain an unpaired surrogate')
    assert.equal(message(question({ label: '🔑' })), 'ok')
    assert.equal(message({ ...question({}), 'x\udc00': 1 }), 'Question request must not contain an unpaired surrogate')
  })

  it('are refused with a __proto__ member, not polluted by it', () => {
    const poisoned = JSON.parse(`{"__proto__": {"fields": []}, ${JSON.stringify(question({})).slice(1)}`)
    assert.equal(message(poisoned), 'Question request contains unknown field "__proto__"')
  })

  it('count lengths in UTF-16 units', async () => {
    const { userInteractionImplementation } = await import('dsh-ag-ui/presentation/interaction')
    const answer = (text: string) => handle(
      userInteractionImplementation('tui', { operations: ['question'] }, { interact: async () => ({ status: 'submitted', value: { answers: { a: text } } }) } as never),
      'interact', question({ maxLength: 2 }))
    assert.equal((await answer('🔑')).status, 'submitted')
    await assert.rejects(answer('🔑x'), { message: 'Question answers.answers.a is too long' })
    await assert.rejects(answer('\ud83d'), { message: 'Question result.value.answers.a must not contain an unpaired surrogate' })
  })

  it('are read once: what was validated is what is used', async () => {
    let reads = 0
    const shifting = { ...context, get uri() { return (reads += 1) === 1 ? 'https://safe.test/' : 'file:///etc/passwd' } }
    let opened: string | undefined
    const implementation = openExternalImplementation('tui', {
      openExternal: ({ uri }) => {
        opened = uri
        return { status: 'submitted', value: { accepted: true } }
      },
    })
    await handle(implementation, 'openExternal', shifting)
    assert.deepEqual([opened, reads], ['https://safe.test/', 1])
    const lying = new Proxy({ ...context, text: 'x' }, { get: (target, name, self) => (name === 'text' ? (reads += 1, 'y') : Reflect.get(target, name, self)) })
    reads = 0
    validateCopyTextRequest(lying)
    assert.equal(reads, 1)
  })

  it('can be made visible by a provider', () => {
    assert.equal(revealText('rm\u001b[2K \u202etxt', 'line'), 'rm\\u{1b}[2K \\u{202e}txt')
    assert.equal(revealText('a\nb', 'block'), 'a\nb')
    assert.equal(revealText('a\nb', 'line'), 'a\\u{a}b')
  })
})
