import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { LlmError, freezeMessage } from '@deepseek-ai/dsh-llm'
import type { CallId, ContentBlock, GenerateOptions, Message, MessageId, MessageSource, StreamChunk } from '@deepseek-ai/dsh-llm'

import { parseDirectives } from '../examples/playground/directives.ts'
import { SCRIPTED_FAILURE, SCRIPTED_MODEL, SCRIPTED_PROVIDER, ScriptedModel } from '../examples/playground/scripted-model.ts'

const call = (name: string): CallId => name as CallId

function message(role: 'user' | 'assistant', source: MessageSource, content: ContentBlock[]): Message {
  return freezeMessage({ id: 'm' as MessageId, role, source, content })
}
const said = (text: string): Message => message('user', { kind: 'user' }, [{ type: 'text', text }])
const injected = (text: string): Message => message('user', { kind: 'plugin', plugin: 'context' }, [{ type: 'text', text }])
const called = (id: string, name: string): Message =>
  message('assistant', { kind: 'model', provider: 'p', model: 'm' }, [{ type: 'tool-call', id: call(id), name, arguments: '{}' }])
const answered = (id: string, text: string, isError = false): Message =>
  message('user', { kind: 'tool', callId: call(id) }, [{ type: 'tool-result', toolCallId: call(id), content: [{ type: 'text', text }], isError }])

function request(messages: Message[], extra: Partial<GenerateOptions> = {}): GenerateOptions {
  return { provider: SCRIPTED_PROVIDER, model: SCRIPTED_MODEL, messages, ...extra }
}

/** Everything the model produced, and the error that ended it, if any. */
async function drain(options: GenerateOptions): Promise<{ chunks: StreamChunk[], error?: unknown }> {
  const chunks: StreamChunk[] = []
  try {
    for await (const chunk of new ScriptedModel().stream(options)) chunks.push(chunk)
    return { chunks }
  } catch (error) {
    return { chunks, error }
  }
}

async function complete(text: string, extra: Partial<GenerateOptions> = {}): Promise<StreamChunk[]> {
  const { chunks, error } = await drain(request([said(text)], extra))
  assert.equal(error, undefined)
  return chunks
}

const deltas = (chunks: StreamChunk[]): string[] => chunks.flatMap(chunk => chunk.type === 'text-delta' ? [chunk.text] : [])
const finish = (chunks: StreamChunk[]): unknown => {
  const last = chunks.at(-1)
  return last?.type === 'finish' ? last.reason : undefined
}

describe('directives', () => {
  test('text without directives is left alone', () => {
    assert.deepEqual(parseDirectives('  a [link](x)\nand [deltas] [tool=9x] [nope]  '), {
      tools: [], stateUpdates: [], reasoning: 'none', ending: { kind: 'stop' }, pace: { kind: 'none' },
      plain: 'a [link](x) and [deltas] [tool=9x] [nope]',
    })
  })

  test('all of them combine in one text', () => {
    assert.deepEqual(parseDirectives('go [deltas=12][slow=5] [tool=a {"x":[1,{"y":"}]\\""}]}] [tool=b] [state {"n":1}] [reason] [fail=call] now'), {
      deltas: 12,
      tools: [{ name: 'a', arguments: '{"x":[1,{"y":"}]\\""}]}' }, { name: 'b', arguments: '{}' }],
      stateUpdates: ['{"n":1}'],
      reasoning: 'first', ending: { kind: 'fail', during: 'call' }, pace: { kind: 'slow', milliseconds: 5 },
      plain: 'go now',
    })
  })

  test('the later of two that exclude each other holds', () => {
    const { ending, pace } = parseDirectives('[fail][slow=3][max-tokens][yield]')
    assert.deepEqual({ ending, pace }, { ending: { kind: 'max-tokens' }, pace: { kind: 'yield' } })
  })

  test('broken JSON with balanced braces is passed on, an open brace is text', () => {
    assert.deepEqual(parseDirectives('[tool=a {x}]').tools, [{ name: 'a', arguments: '{x}' }])
    assert.deepEqual(parseDirectives('[tool=a {"x":1]').plain, '[tool=a {"x":1]')
    assert.deepEqual(parseDirectives('[state ]').plain, '[state ]')
  })
})

describe('scripted model', () => {
  test('answers plainly, usage before finish, nothing behind', async () => {
    const chunks = await complete('hello there')
    assert.equal(deltas(chunks).join(''), 'You said: hello there')
    assert.deepEqual(chunks.map(chunk => chunk.type), [
      'block-start', 'text-delta', 'text-delta', 'text-delta', 'block-end', 'usage', 'finish',
    ])
    assert.deepEqual(chunks[4], { type: 'block-end', index: 0, block: { type: 'text', text: 'You said: hello there' } })
    assert.deepEqual(finish(chunks), { kind: 'stop' })
  })

  test('[deltas=N] gives N deltas of 8 characters that number themselves', async () => {
    const texts = deltas(await complete('[deltas=2000]'))
    assert.equal(texts.length, 2000)
    assert.ok(texts.every(text => text.length === 8))
    assert.deepEqual([texts[0], texts[1999]], ['0000000 ', '0001999 '])
  })

  test('[deltas=0] is an empty block', async () => {
    assert.deepEqual((await complete('[deltas=0]')).map(chunk => chunk.type), ['block-start', 'block-end', 'usage', 'finish'])
  })

  test('[tool] makes parallel calls of one step, arguments in pieces, the name on the first', async () => {
    const chunks = await complete('[tool=get_weather {"location":"Paris"}] [tool=list_files]')
    const parts = chunks.flatMap(chunk => chunk.type === 'tool-call-delta' ? [chunk] : [])
    assert.deepEqual(parts.map(({ index, id, name, argumentsDelta }) => [index, id, name, argumentsDelta]), [
      [0, 'call_1_1', 'get_weather', '{"locati'], [0, 'call_1_1', undefined, 'on":"Par'], [0, 'call_1_1', undefined, 'is"}'],
      [1, 'call_1_2', 'list_files', '{}'],
    ])
    assert.deepEqual(finish(chunks), { kind: 'tool-calls' })
  })

  test('[tool] with [deltas] speaks before it calls', async () => {
    const chunks = await complete('[deltas=1][tool=a]')
    assert.deepEqual(chunks.map(chunk => chunk.type), [
      'block-start', 'text-delta', 'block-end', 'block-start', 'tool-call-delta', 'block-end', 'usage', 'finish',
    ])
  })

  test('after the results it names them', async () => {
    const { chunks } = await drain(request([
      said('[tool=old]'), called('c0', 'old'), answered('c0', 'stale'),
      said('[tool=a][tool=b]'), called('c1', 'a'), called('c2', 'b'), answered('c1', 'one'), answered('c2', 'no', true),
    ]))
    assert.equal(deltas(chunks).join(''), 'a returned: one\nb failed: no')
    assert.deepEqual(finish(chunks), { kind: 'stop' })
  })

  test('call ids differ from step to step of a session', async () => {
    const ids = (chunks: StreamChunk[]): string[] => chunks.flatMap(chunk => chunk.type === 'tool-call-delta' ? [chunk.id] : [])
    const first = await drain(request([said('[tool=a]')]))
    const second = await drain(request([said('[tool=a]'), called('call_1_1', 'a'), answered('call_1_1', 'x'), said('[tool=a]')]))
    assert.deepEqual([ids(first.chunks), ids(second.chunks)], [['call_1_1'], ['call_4_1']])
  })

  test('[reason] reasons before the first step only', async () => {
    const first = await complete('[reason] hi')
    assert.deepEqual([first[0], first.some(chunk => chunk.type === 'reasoning-delta')], [{ type: 'block-start', index: 0, blockType: 'reasoning' }, true])
    assert.equal(deltas(first).join(''), 'You said: hi')
    const second = await drain(request([said('[reason][tool=a]'), called('c', 'a'), answered('c', 'x')]))
    assert.equal(second.chunks.some(chunk => chunk.type === 'reasoning-delta'), false)
  })

  test('[fail] fails after partial text with a provider code', async () => {
    const { chunks, error } = await drain(request([said('[deltas=3][fail]')]))
    assert.equal(deltas(chunks).length, 3)
    assert.ok(error instanceof LlmError)
    assert.equal(error.code, SCRIPTED_FAILURE)
    assert.equal(chunks.at(-1)?.type, 'text-delta')
  })

  test('[fail=call] fails halfway through the arguments', async () => {
    const { chunks, error } = await drain(request([said('[tool=a {"x":1}][fail=call]')]))
    assert.ok(error instanceof LlmError)
    assert.deepEqual(chunks.map(chunk => chunk.type), ['block-start', 'tool-call-delta'])
    assert.deepEqual(chunks[1], { type: 'tool-call-delta', index: 0, id: 'call_1_1', name: 'a', argumentsDelta: '{"x"' })
  })

  test('[fail] with a Tool fails after the results', async () => {
    assert.deepEqual(finish(await complete('[tool=a][fail]')), { kind: 'tool-calls' })
    const { chunks, error } = await drain(request([said('[tool=a][fail]'), called('c', 'a'), answered('c', 'x')]))
    assert.equal(deltas(chunks).join(''), 'a returned: x')
    assert.ok(error instanceof LlmError)
  })

  test('[max-tokens] finishes so', async () => {
    const chunks = await complete('[max-tokens] hi')
    assert.equal(deltas(chunks).join(''), 'You said: hi')
    assert.deepEqual(finish(chunks), { kind: 'max-tokens' })
  })

  test('[hang] waits until it is aborted, and throws an Error', async () => {
    const abort = new AbortController()
    const chunks: StreamChunk[] = []
    await assert.rejects(async () => {
      for await (const chunk of new ScriptedModel().stream(request([said('[deltas=2][hang]')], { signal: abort.signal }))) {
        chunks.push(chunk)
        if (deltas(chunks).length === 2) queueMicrotask(() => abort.abort({ kind: 'user' }))
      }
    }, (error: Error) => {
      assert.deepEqual(error.cause, { kind: 'user' })
      return true
    })
    assert.deepEqual(chunks.map(chunk => chunk.type), ['block-start', 'text-delta', 'text-delta'])
  })

  test('an abort stops the deltas, also inside a pause', async () => {
    for (const pace of ['', '[yield]', '[slow=60000]']) {
      const abort = new AbortController()
      const reason = new Error('gone')
      const chunks: StreamChunk[] = []
      await assert.rejects(async () => {
        for await (const chunk of new ScriptedModel().stream(request([said(`[deltas=1000]${pace}`)], { signal: abort.signal }))) {
          chunks.push(chunk)
          if (chunk.type === 'text-delta') queueMicrotask(() => abort.abort(reason))
        }
      }, reason)
      assert.ok(deltas(chunks).length < 3)
    }
  })

  test('never yields the event loop unless it is told to', async () => {
    const turnsDuring = async (text: string): Promise<number> => {
      let turns = 0
      let running = true
      const count = (): void => {
        turns += 1
        if (running) setImmediate(count)
      }
      setImmediate(count)
      await complete(text)
      running = false
      return turns
    }
    assert.equal(await turnsDuring('[deltas=500]'), 0)
    assert.ok(await turnsDuring('[deltas=20][yield]') >= 19)
  })

  test('looks past injected context for the last user text', async () => {
    const { chunks } = await drain(request([said('old'), said('new'), injected('[fail] runtime context')]))
    assert.equal(deltas(chunks).join(''), 'You said: new')
  })

  test('[state] calls the state Tool where it is offered, and says so where it is not', async () => {
    const tools = [{ name: 'ag_ui_update_state', description: '', parameters: {} }]
    const chunks = await complete('[state {"count":2}]', { tools })
    assert.deepEqual(chunks.find(chunk => chunk.type === 'block-end'), {
      type: 'block-end', index: 0,
      block: { type: 'tool-call', id: 'call_1_1', name: 'ag_ui_update_state', arguments: '{"state_updates":{"count":2}}' },
    })
    assert.equal(deltas(await complete('[state {"count":2}]')).join(''), 'This thread has no shared state to update.')
  })

  test('titles and compaction do not follow directives', async () => {
    assert.equal(deltas(await complete('[fail] plan my trip to the moon please', { purpose: 'session-title' })).join(''), 'plan my trip to the moon')
    assert.equal(deltas(await complete('[fail] x', { purpose: 'compaction' })).join(''), 'Scripted conversation')
  })
})
