/** Messages that carry files: what the model gets, what every history keeps, what uses uploads up (G16). */

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { GenerateOptions } from '@deepseek-ai/dsh-llm'
import { connect, VERSIONS } from '../support/client.ts'
import { watchUploads } from '../support/file-uploads.ts'
import type { WatchedUploads } from '../support/file-uploads.ts'
import {
  body, bootGateway, browserTool, errorOf, Gate, history, hostTool, input, logOf, makeHome, mountPlugin, original, registerTools, say, user,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import type { NewerUploads } from '../support/newer/uploads.ts'
import { png } from '../support/png.ts'
import { get, partOf, upload } from '../support/transfers.ts'
import type { FilePart } from '../support/transfers.ts'

type Boot = Parameters<typeof bootGateway>

async function withUploads(t: TestContext, config: Boot[1] = {}, options: Boot[2] = {}): Promise<{ gateway: TestGateway, uploads: WatchedUploads }> {
  const gateway = await bootGateway(t, config, options)
  return { gateway, uploads: await watchUploads(gateway.host) }
}

const text = (text: string) => ({ type: 'text', text })
const image = (gateway: TestGateway, seed = 0) => partOf(upload(gateway, png(8, 8, seed), `${seed}.png`, 'image/png'))
const file = (gateway: TestGateway, content = 'x', name = 'note.txt') => partOf(upload(gateway, content, name, 'text/plain'))

/** Blocks of the person's messages in a model request. */
function blocksOf(request: GenerateOptions | undefined): unknown[] {
  return (request?.messages ?? []).filter(({ source }) => source.kind === 'user').flatMap(({ content }) => content)
}

async function refusal(gateway: TestGateway, content: unknown, id = 'u-9'): Promise<readonly [number, string]> {
  const { status, code } = await gateway.refuse(input({ messages: [user(id, content)] }))
  return [status, code]
}

test('an image reaches the model, and its part stays in every history', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  const part = await image(first)
  const content = [text('What is this?'), part, text('And why?')]
  first.adapter.queue(say('A picture.'))
  const events = await first.run({ messages: [user('u-1', content)] })
  const [before, picture, after] = blocksOf(first.adapter.requests[0]) as { type: string, attachment?: { attachmentId: string, name: string, width: number } }[]
  assert.deepEqual([before, after], [text('What is this?'), text('And why?')])
  assert.equal(picture?.type, 'image')
  assert.deepEqual([picture?.attachment?.attachmentId, picture?.attachment?.width], [`sha256:${part.metadata.sha256}`, 8])
  for (const at of [0, -1]) assert.deepEqual(history(events, at)[0], { id: 'u-1', role: 'user', content })
  // The Host's own reader finds the bytes that the message refers to.
  const stored = await first.host.ctx.attachments.readImage(picture?.attachment as never)
  assert.ok(Buffer.from(stored.data).equals(png(8, 8)))
  await first.host.dispose()

  const second = await bootGateway(t, {}, { home })
  // In the first request after the restart: what was accepted is known, by any prefix of its URL.
  const moved = { ...part, source: { ...part.source, value: `https://app.example/api${part.source.value}` } }
  for (const again of [part, moved]) {
    const cold = await second.run({ messages: [user('u-1', [text('What is this?'), again, text('And why?')])] })
    assert.deepEqual(body(cold), ['RUN_FINISHED'])
    assert.deepEqual(history(cold), history(events))
  }
  assert.equal(second.adapter.requests.length, 0)
  const other = await image(second, 1)
  assert.deepEqual(await refusal(second, [text('What is this?'), other, text('And why?')], 'u-1'), [409, 'MESSAGE_ID_CONFLICT'])
  assert.deepEqual(await refusal(second, [text('What is this?'), text('And why?')], 'u-1'), [409, 'MESSAGE_ID_CONFLICT'])
  second.adapter.queue(say('Still a picture.'))
  await second.run({ messages: [user('u-2', 'Sure?')] })
  assert.deepEqual((blocksOf(second.adapter.requests[0]) as { type: string }[]).map(({ type }) => type), ['text', 'image', 'text', 'text'])
})

for (const version of VERSIONS) {
  test(`client ${version} sends an image, reads it back, and goes on`, async (t) => {
    const gateway = await bootGateway(t)
    const client = connect(gateway, version)
    const content = [text('see'), await image(gateway)]
    gateway.adapter.queue(say('Nice.'), say('Bye.'))
    client.agent.addMessage({ id: 'u-1', role: 'user', content } as never)
    await client.run()
    await client.say('bye')
    const reloaded = connect(gateway, version)
    await reloaded.run()
    for (const { messages } of [client, reloaded]) assert.deepEqual(messages[0]?.content, content)
    assert.equal(client.messages.length, 4)
    await reloaded.run()
    assert.equal(gateway.adapter.requests.length, 2)
  })
}

test('the same image may be sent again, an upload of a file only once', async (t) => {
  const { gateway } = await withUploads(t)
  const [picture, note] = [await image(gateway), await file(gateway)]
  gateway.adapter.queue(say('one'), say('two'))
  await gateway.run({ messages: [user('u-1', [picture, note])] })
  await gateway.run({ messages: [user('u-2', [picture])] })
  assert.deepEqual(await refusal(gateway, [note]), [409, 'FILE_NOT_STAGED'])
  assert.deepEqual(await refusal(gateway, [text('see'), picture, note]), [409, 'FILE_NOT_STAGED'])
  // It can still be read.
  assert.equal((await get(gateway, note.source.value).answer()).body.toString(), 'x')
})

test('a file becomes a file block, and its receipt retires with the message', async (t) => {
  const home = makeHome(t)
  const { gateway, uploads } = await withUploads(t, {}, { home })
  const [one, two] = [await file(gateway, 'one'), await file(gateway, 'two')]
  assert.notEqual(one.source.value, two.source.value)
  const content = [one, text('compare'), two]
  gateway.adapter.queue(say('Different.'))
  const events = await gateway.run({ messages: [user('u-0', 'first'), user('u-1', content)] })
  const sent = logOf(gateway.agent()).find(({ type, data }) => type === 'user/message' && (data as { id: string }).id === 'u-1')
  assert.ok(sent !== undefined)
  const { content: blocks, source } = sent.data as unknown as { content: object[], source: Record<string, string> }
  const attachment = ({ metadata }: FilePart) => ({ attachmentId: `sha256:${metadata.sha256}`, name: 'note.txt', bytes: 3 })
  assert.deepEqual(blocks, [
    { type: 'file', attachment: attachment(one) }, text('compare'), { type: 'file', attachment: attachment(two) },
  ])
  assert.deepEqual(Object.keys(source).toSorted(), ['agUiContent', 'kind', 'rpcId'])
  assert.equal(source['kind'], 'user')
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 0)
  assert.deepEqual(history(events).map(({ id }) => id).slice(0, 2), ['u-0', 'u-1'])
  assert.deepEqual(history(events)[1]?.content, content)
  await gateway.host.dispose()
  const second = await withUploads(t, {}, { home })
  const cold = await second.gateway.run({ messages: [user('u-1', content)] })
  assert.deepEqual(history(cold), history(events))
  assert.equal(second.gateway.adapter.requests.length, 0)
})

test('an upload that was not sent is forgotten with its process, and after an idle time', async (t) => {
  const home = makeHome(t)
  const first = await withUploads(t, {}, { home })
  const note = await file(first.gateway)
  first.gateway.adapter.queue(say('one'))
  await first.gateway.run({ messages: [user('u-1', 'hi')] })
  await first.gateway.host.dispose()
  const second = await withUploads(t, {}, { home })
  assert.deepEqual(await refusal(second.gateway, [note]), [409, 'FILE_NOT_STAGED'])
  // Nothing of it was accepted: another upload may take the same message id.
  const again = await file(second.gateway)
  second.gateway.adapter.queue(say('two'))
  await second.gateway.run({ messages: [user('u-9', [again])] })
})

test('a refused admission leaves the upload staged', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  await registerTools(gateway, hostTool('taken'))
  const note = await file(gateway)
  const messages = [user('u-1', [note])]
  assert.equal((await gateway.refuse(input({ messages, tools: [browserTool('taken')] }))).code, 'FRONTEND_TOOL_NAME_COLLISION')
  const other = await file(gateway, 'y')
  const receipts = uploads.receiptsOf(gateway.agent())
  receipts.delete([...receipts.keys()][1] ?? '')
  assert.deepEqual(await refusal(gateway, [note, other]), [409, 'FILE_NOT_STAGED'])
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 1)
  gateway.adapter.queue(say('one'))
  await gateway.run({ messages })
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 0)
})

test('Tools and state are held against the thread as it is after the files were looked at', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const note = await file(gateway)
  const gate = holdImages(gateway)
  const run = gateway.post(input({ messages: [user('u-1', [note, await image(gateway)])], tools: [browserTool('late')] }))
  await gate.reached
  await registerTools(gateway, hostTool('late'))
  gate.open()
  const { status, code } = await run.refused()
  assert.deepEqual([status, code], [409, 'FRONTEND_TOOL_NAME_COLLISION'])
  assert.deepEqual(history(await gateway.run()), [])
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 1)
})

/** Makes the Host's look at images wait. */
function holdImages(gateway: TestGateway): Gate {
  const gate = new Gate()
  const store = original(gateway.host.ctx.attachments)
  const { readImage } = store
  store.readImage = async function (...args) {
    await gate.pass()
    return await readImage.apply(this, args)
  }
  return gate
}

test('a client that leaves while its files are looked at frees the thread and the uploads', async (t) => {
  const { gateway } = await withUploads(t)
  const content = [await file(gateway), await image(gateway)]
  const gate = holdImages(gateway)
  const run = gateway.post(input({ messages: [user('u-1', content)] }))
  await gate.reached
  run.leave()
  await gateway.left(run)
  gateway.adapter.queue(say('one'))
  const next = gateway.post(input({ messages: [user('u-1', content)] }))
  await next.received
  gate.open()
  assert.deepEqual(history(await next.end())[0]?.content, content)
  assert.equal(gateway.adapter.requests.length, 1)
})

test('a client that leaves after admission leaves a message that may be sent again', async (t) => {
  const { gateway } = await withUploads(t)
  const content = [text('see'), await image(gateway)]
  gateway.adapter.queue('hang', say('one'))
  const run = gateway.post(input({ messages: [user('u-1', content)] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  run.leave()
  await gateway.left(run)
  // It was claimed: it stays accepted, and is shown.
  assert.deepEqual(history(await gateway.run({ messages: [user('u-1', content)] }))[0]?.content, content)
})

test('a message that the agent lets go may be sent again with its file', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const content = [text('see'), await file(gateway)]
  const policy = await mountPlugin(gateway.host.ctx, [], (plugin) => {
    plugin.on('agent/pre-step', () => Promise.resolve({ kind: 'reject' as const }))
  })
  assert.equal(errorOf(await gateway.run({ messages: [user('u-1', content)] })).code, 'AGENT_BLOCKED')
  await policy.dispose()
  gateway.adapter.queue(say('one'))
  assert.deepEqual(history(await gateway.run({ messages: [user('u-1', content)] }))[0]?.content, content)
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 0)
})

test('an upload that vanishes between admission and delivery fails the run in its stream', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const note = await file(gateway)
  const service = original(gateway.host.ctx.get('fileUploads' as never) as unknown as NewerUploads)
  const { bindPrompt } = service
  service.bindPrompt = function (...args) {
    uploads.receiptsOf(gateway.agent()).clear()
    return bindPrompt.apply(this, args)
  }
  const failed = await gateway.run({ messages: [user('u-0', 'first'), user('u-1', [note])] })
  assert.equal(errorOf(failed).code, 'FILE_NOT_STAGED')
  assert.equal(gateway.adapter.requests.length, 0)
  gateway.adapter.queue(say('one'))
  // Neither message was accepted.
  const next = await gateway.run({ messages: [user('u-0', 'first'), user('u-1', 'without')] })
  assert.deepEqual(history(next).map(({ content }) => content), ['first', 'without', 'one'])
})

test('a delivery that fails otherwise releases the uploads', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const note = await file(gateway)
  const agent = gateway.agent()
  const receipts = uploads.receiptsOf(agent)
  const { followup } = agent
  agent.followup = () => { throw new Error('no') }
  const run = await gateway.run({ messages: [user('u-1', [note])] })
  assert.equal(errorOf(run).code, 'AGENT_NOT_AVAILABLE')
  agent.followup = followup
  assert.deepEqual([...receipts.values()].map(({ requestId }) => requestId), [undefined])
})

test('what a message may not carry', async (t) => {
  const gateway = await bootGateway(t, { maxFilesPerMessage: 2 })
  const picture = await image(gateway)
  const other = await partOf(upload(gateway, png(), 'a.png', 'image/png', { thread: 'thread-2' }))
  const foreign = await partOf(upload(gateway, png(), 'a.png', 'image/png', { userId: 'user-2' }))
  const at = (value: string) => ({ ...picture, source: { ...picture.source, value } })
  const url = picture.source.value
  const cases: [unknown, number, string][] = [
    [[{ type: 'image', source: { type: 'data', value: 'AA==', mimeType: 'image/png' } }], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[{ type: 'binary', mimeType: 'image/png', data: 'AA==' }], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[{ type: 'binary', mimeType: 'image/png', url }], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[{ type: 'image', source: { type: 'file', value: 'file-1' } }], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[at('https://example.com/cat.png')], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[at('data:image/png;base64,AA==')], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[at(url.split('?')[0] ?? '')], 400, 'UNSUPPORTED_MESSAGE_CONTENT'],
    [[at(url.replace(/sig=./u, match => match === 'sig=A' ? 'sig=B' : 'sig=A'))], 403, 'FILE_FORBIDDEN'],
    [[other], 403, 'FILE_FORBIDDEN'],
    [[at(other.source.value.replace('thread-2', 'thread-1'))], 403, 'FILE_FORBIDDEN'],
    [[foreign], 403, 'FILE_FORBIDDEN'],
    [[picture, picture, picture], 413, 'MESSAGE_LIMIT_EXCEEDED'],
  ]
  for (const [content, status, code] of cases) assert.deepEqual(await refusal(gateway, content), [status, code], JSON.stringify(content))
  assert.deepEqual(history(await gateway.run()), [])
  gateway.adapter.queue(say('one'))
  await gateway.run({ messages: [user('u-1', [picture, picture])] })
})

test('an image that the store has lost is not sent', async (t) => {
  const home = makeHome(t)
  const gateway = await bootGateway(t, {}, { home })
  const picture = await image(gateway)
  rmSync(join(home, 'attachments'), { recursive: true })
  assert.deepEqual(await refusal(gateway, [picture]), [409, 'FILE_NOT_STAGED'])
  const again = await image(gateway)
  gateway.adapter.queue(say('one'))
  await gateway.run({ messages: [user('u-9', [again])] })
})

test('a model without eyes is told nothing of images', async (t) => {
  const gateway = await bootGateway(t)
  const picture = await image(gateway)
  const resolve = gateway.adapter.resolveModel.bind(gateway.adapter)
  gateway.adapter.resolveModel = async (...args) => ({ ...await resolve(...args), inputModalities: ['text'] })
  assert.deepEqual(await refusal(gateway, [picture]), [400, 'UNSUPPORTED_MESSAGE_CONTENT'])
})

test('a Host that has lost its stores says so', async (t) => {
  const gateway = await bootGateway(t)
  const picture = await image(gateway)
  await gateway.host.attachments.dispose()
  assert.deepEqual(await refusal(gateway, [picture]), [501, 'HOST_SERVICE_MISSING'])
})

test('what the client says of a part is kept letter for letter', async (t) => {
  const home = makeHome(t)
  const gateway = await bootGateway(t, {}, { home })
  const picture = { ...await image(gateway), metadata: { '2': 1, '1': [1.50, 1e3, null], 'b': 'ü' } }
  gateway.adapter.queue(say('one'))
  const sent = JSON.stringify(input({ messages: [user('u-1', [picture])] })).replace('[1.5,1000,null]', '[1.50,1e3, null]')
  const run = gateway.post(sent)
  await run.end()
  const raw = await run.text()
  assert.ok(raw.includes('[1.50,1e3,null]'), 'numbers are as they came')
  await gateway.host.dispose()
  const second = await bootGateway(t, {}, { home })
  const cold = second.post(input())
  await cold.end()
  assert.ok((await cold.text()).includes('[1.50,1e3,null]'))
})
