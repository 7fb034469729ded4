/** The drop-in face over a foreign connection and catalog (P1, P2). */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as callback from 'dsh-ag-ui/presentation/callback'
import * as interaction from 'dsh-ag-ui/presentation/interaction'
import * as operations from 'dsh-ag-ui/presentation/operations'
import * as presentation from 'dsh-ag-ui/presentation'
import {
  API_VERSION, copyTextImplementation, externalRedirectClient, externalRedirectImplementation, externalRedirectSupport,
  notificationClient, openExternalClient, openExternalImplementation, openExternalSupport, presentationClients, protocols, register,
  userInteractionClient, userInteractionImplementation, userInteractionSupport, validatePresentationDescriptor,
  validateUserInteractionRequest, validateExternalRedirectResult, validateUserInteractionSupport,
} from 'dsh-ag-ui/presentation'
import { Catalog, foreignClient, handle, scope } from './foreign.ts'

const context = { requestId: 'r', invocationId: 'i', origin: 'example.plugin' }
const accepted = { status: 'submitted', value: { accepted: true } }
const select = { id: 'method', kind: 'select' as const, label: 'Method', options: [{ id: 'browser', label: 'Browser' }] }

describe('exports', () => {
  it('names what existing code imports, on every subpath', () => {
    const names = (kind: string, x: string) => [`${x}Protocol`, `${x}Support`, `${x}Client`, `${x}Implementation`, `validate${kind}Request`]
    const expected: [object, string[]][] = [
      [operations, ['API_VERSION', 'OPEN_EXTERNAL_KIND', 'COPY_TEXT_KIND', 'NOTIFICATION_KIND',
        ...names('OpenExternal', 'openExternal'), ...names('CopyText', 'copyText'), ...names('Notification', 'notification')]],
      [interaction, ['API_VERSION', 'USER_INTERACTION_KIND', 'validateUserInteractionRequirement', 'validateUserInteractionSupport',
        ...names('UserInteraction', 'userInteraction')]],
      [callback, ['EXTERNAL_REDIRECT_KIND', 'validateExternalRedirectReady', 'validateExternalRedirectResult',
        ...names('ExternalRedirect', 'externalRedirect')]],
      [presentation, ['protocols', 'register', 'presentationClients', 'validatePresentationDescriptor', 'createPresentationHost', 'attach']],
    ]
    for (const [module, list] of expected) for (const name of list) assert.ok(name in module, name)
    for (const module of [operations, interaction, callback]) {
      for (const name of Object.keys(module)) assert.ok(name in presentation, name)
    }
  })

  it('lists the five protocols in the order of the document', () => {
    assert.deepEqual(protocols.map(({ kind }) => kind), ['OpenExternal', 'CopyText', 'Notification', 'UserInteraction', 'ExternalRedirect'])
    assert.ok(protocols.every(({ apiVersion }) => apiVersion === 'presentation.dsh/v1alpha1' && apiVersion === API_VERSION))
  })
})

describe('a catalog', () => {
  it('registers all five, takes them out again, and keeps none of a failed registration', () => {
    const catalog = new Catalog()
    const unregister = register(catalog)
    assert.equal(catalog.definitions.size, 5)
    assert.throws(() => register(catalog), /is registered/)
    unregister()
    assert.equal(catalog.definitions.size, 0)
    catalog.register(protocols[3]!)
    assert.throws(() => register(catalog), /UserInteraction is registered/)
    assert.deepEqual([...catalog.definitions.keys()], ['UserInteraction'])
  })

  const catalog = new Catalog()
  register(catalog)
  const consumer = (optional?: boolean) => ({
    participant: 'plugin',
    requires: [{ apiVersion: API_VERSION, kind: 'UserInteraction', optional, spec: { operations: ['question'], optionalOperations: ['approval'] } }],
  })
  const provider = (participant: string, ...list: ('question' | 'approval')[]) =>
    ({ participant, supports: [userInteractionSupport({ operations: list })] })

  it('binds the one provider and keeps requirement and support as they were declared', () => {
    const { agreements, issues } = catalog.negotiate([consumer(), provider('tui', 'question')])
    const [{ consumer: from, provider: to, requirement, support }] = agreements[0].bindings
    assert.deepEqual([agreements[0].kind, from, to], ['CapabilityBindings', 'plugin', 'tui'])
    assert.deepEqual(requirement.spec, { operations: ['question'], optionalOperations: ['approval'] })
    assert.deepEqual(support.spec, { operations: ['question'] })
    assert.deepEqual(issues.map(({ code, severity, participant }) => [code, severity, participant]),
      [['optional-operation-missing', 'warning', 'plugin']])
    assert.ok(Object.isFrozen(agreements[0]) && Object.isFrozen(agreements[0].bindings[0]) && Object.isFrozen(requirement.spec.operations))
  })

  it('knows the four issues', () => {
    const code = (...declarations: any[]) => catalog.negotiate(declarations).issues.map(issue => [issue.code, issue.severity])
    assert.deepEqual(code(consumer()), [['required-support-missing', 'error']])
    assert.deepEqual(code(consumer(true)), [['optional-support-missing', 'warning']])
    assert.deepEqual(code(consumer(), provider('a', 'approval')), [['required-support-missing', 'error']])
    assert.deepEqual(code(consumer(), provider('a', 'question'), provider('b', 'question', 'approval')), [['support-ambiguous', 'error']])
    assert.deepEqual(code(consumer(), provider('plugin', 'question', 'approval')), [['required-support-missing', 'error']])
  })

  it('never binds a participant to its own endpoint', () => {
    const policy = { endpointByParticipant: { plugin: 'E', tui: 'E' } }
    assert.equal(catalog.negotiate([consumer(), provider('tui', 'question', 'approval')], policy).issues[0]?.code, 'required-support-missing')
    const apart = { endpointByParticipant: { plugin: 'E', tui: 'F' } }
    assert.equal(catalog.negotiate([consumer(), provider('tui', 'question', 'approval')], apart).issues.length, 0)
  })

  it('refuses a spec where v1alpha1 has none', () => {
    for (const protocol of protocols.filter(({ kind }) => kind !== 'UserInteraction')) {
      assert.equal(protocol.validateSupport(undefined), undefined)
      assert.throws(() => protocol.validateRequirement({}), { name: 'TypeError', message: `${protocol.kind} does not accept a spec in v1alpha1` })
    }
    assert.throws(() => validateUserInteractionSupport({ operations: [] }), TypeError)
  })
})

describe('clients', () => {
  it('bind the context, validate, and give a frozen result', async () => {
    const client = foreignClient(() => accepted)
    const opener = openExternalClient(client, scope({ deadline: '2099-01-01T00:00:00Z' }))
    const result = await opener.openExternal({ uri: 'https://example.test/login' })
    assert.deepEqual(result, accepted)
    assert.ok(Object.isFrozen(result) && Object.isFrozen((result as any).value))
    assert.deepEqual(client.invocations, [{
      reference: openExternalSupport,
      operation: 'openExternal',
      input: {
        uri: 'https://example.test/login', requestId: 'request-1', invocationId: 'command-1', origin: 'example.plugin',
        deadline: '2099-01-01T00:00:00Z',
      },
      options: undefined,
    }])
    assert.ok(Object.isFrozen(client.invocations[0]!.input))
  })

  it('do not let a consumer override the context', async () => {
    const client = foreignClient(() => accepted)
    const forged = { text: 'x', requestId: 'mine', invocationId: 'other', origin: 'admin', deadline: '2000-01-01T00:00:00Z' }
    await notificationClient(client, scope()).notify(forged)
    assert.deepEqual(client.invocations[0]!.input, { text: 'x', requestId: 'request-1', invocationId: 'command-1', origin: 'example.plugin' })
  })

  it('reject invalid input before anything is invoked, and invalid results after', async () => {
    const client = foreignClient(() => ({ status: 'submitted', value: { accepted: false } }))
    const opener = openExternalClient(client, scope())
    await assert.rejects(opener.openExternal({ uri: 'javascript:alert(1)' }),
      { name: 'TypeError', code: 'invalid-request', path: 'OpenExternal request.uri', message: 'OpenExternal request.uri must be an HTTP(S) URI' })
    assert.equal(client.invocations.length, 0)
    await assert.rejects(opener.openExternal({ uri: 'https://a.test' }), { name: 'TypeError', message: 'Presentation receipt.accepted must be true' })
  })

  it('refuse an invalid scope when they are made', () => {
    const client = foreignClient(() => accepted)
    assert.throws(() => openExternalClient(client, scope({ origin: ' ' })), { message: 'Presentation invocation scope.origin must be a non-empty string' })
    assert.throws(() => openExternalClient(client, scope({ deadline: 'soon' })), /deadline must be an RFC 3339 date-time/)
    assert.throws(() => openExternalClient(client, scope({ nextRequestId: undefined })), /nextRequestId must be a function/)
  })

  it('reject a request id that is none', async () => {
    await assert.rejects(openExternalClient(foreignClient(() => accepted), scope({ nextRequestId: () => '' })).openExternal({ uri: 'https://a.test' }),
      { message: 'OpenExternal request.requestId must be a non-empty string' })
  })

  it('return the value of the kind that was asked', async () => {
    const values: Record<string, object> = {
      question: { answers: { method: 'browser' } }, approval: { decision: 'denied' }, 'secret-input': { secret: 'pä"ss' },
    }
    const client = foreignClient(({ input }) => ({ status: 'submitted', value: values[input.kind] }))
    const asker = userInteractionClient(client, scope())
    assert.deepEqual(await asker.interact({ kind: 'question', fields: [select] }), { status: 'submitted', value: values.question })
    assert.deepEqual(await asker.interact({ kind: 'approval', action: 'a', summary: 's' }), { status: 'submitted', value: values.approval })
    assert.deepEqual(await asker.interact({ kind: 'secret-input', label: 'Token' }), { status: 'submitted', value: values['secret-input'] })
    assert.deepEqual(client.invocations[0]!.reference, { apiVersion: API_VERSION, kind: 'UserInteraction' })
  })

  it('exist only where the descriptor and a live binding meet', () => {
    const bound = { apiVersion: API_VERSION, kind: 'OpenExternal' }
    const descriptor = { clientId: 'tui:1', contracts: [bound, { apiVersion: API_VERSION, kind: 'Notification' }] }
    const clients = presentationClients(descriptor, foreignClient(() => accepted, ['OpenExternal', 'CopyText']), scope())
    assert.deepEqual(Object.keys(clients), ['descriptor', 'openExternal'])
    assert.deepEqual(clients.descriptor, descriptor)
    assert.ok(Object.isFrozen(clients) && Object.isFrozen(clients.descriptor.contracts[0]))
  })

  it('refuse a descriptor with a duplicate contract', () => {
    assert.doesNotThrow(() => { validatePresentationDescriptor({ clientId: 'tui:1', contracts: [openExternalSupport] }) })
    assert.throws(() => { validatePresentationDescriptor({ clientId: 'tui:1', contracts: [openExternalSupport, openExternalSupport] }) },
      /duplicate contract/)
    assert.throws(() => { validatePresentationDescriptor({ clientId: '', contracts: [] }) }, TypeError)
  })
})

describe('implementations', () => {
  it('reject an operation that they do not carry', async () => {
    const implementation = copyTextImplementation('tui', { copyText: () => ({ status: 'cancelled' }) })
    await assert.rejects(handle(implementation, 'notify', { ...context, text: 'x' }), { name: 'TypeError', message: /unsupported CopyText operation "notify"/ })
    const questions = userInteractionImplementation('tui', { operations: ['question'] }, { interact: async () => ({ status: 'cancelled' }) } as never)
    await assert.rejects(handle(questions, 'interact', { ...context, kind: 'approval', action: 'a', summary: 's' }),
      { name: 'TypeError', message: /does not support "approval"/ })
  })

  it('validate the request, and hand the handler a frozen one of their own', async () => {
    const given = { ...context, uri: 'https://a.test' }
    let seen: object | undefined
    const implementation = openExternalImplementation('tui', { openExternal: request => { seen = request; return accepted as never } })
    assert.deepEqual(await handle(implementation, 'openExternal', given), accepted)
    assert.deepEqual(seen, given)
    assert.ok(Object.isFrozen(seen) && seen !== given)
    await assert.rejects(handle(implementation, 'openExternal', { ...given, command: 'rm' }), /contains unknown field "command"/)
  })

  it('validate the handler\'s own result', async () => {
    const request = { ...context, kind: 'question' as const, fields: [select] }
    const answering = (answers: object) => userInteractionImplementation('tui', { operations: ['question'] },
      { interact: async () => ({ status: 'submitted', value: { answers } }) } as never)
    assert.doesNotThrow(() => { validateUserInteractionRequest(request) })
    assert.deepEqual(await handle(answering({ method: 'browser' }), 'interact', request), { status: 'submitted', value: { answers: { method: 'browser' } } })
    await assert.rejects(handle(answering({ method: 'device' }), 'interact', request), { name: 'TypeError', message: /invalid option/ })
    await assert.rejects(handle(answering({ method: 'Browser' }), 'interact', request), /invalid option/)
  })
})

describe('redirects', () => {
  const exactRedirectUri = 'http://127.0.0.1:1455/oauth/callback'
  const query = { code: ['abc'], scope: ['one', 'two'], '': ['nameless'] }
  const request = { ...context, mode: 'http-get', exactRedirectUri }

  it('announce before they return structured values', async () => {
    const client = foreignClient((_, progress) => {
      progress({ type: 'ready', redirectUri: exactRedirectUri })
      return { status: 'submitted', value: { query } }
    })
    const call = externalRedirectClient(client, scope()).receive({ exactRedirectUri })
    assert.deepEqual(await call.ready, { type: 'ready', redirectUri: exactRedirectUri })
    assert.deepEqual(await call.result, { status: 'submitted', value: { query } })
    assert.deepEqual(client.invocations[0]!.reference, externalRedirectSupport)
    assert.equal(client.invocations[0]!.operation, 'receive')
    assert.equal(client.invocations[0]!.input.mode, 'http-get')
  })

  it('say so when no receiver is announced', async () => {
    const call = externalRedirectClient(foreignClient(() => ({ status: 'unavailable', reason: 'redirect-address-in-use' })), scope()).receive()
    assert.deepEqual(await call.result, { status: 'unavailable', reason: 'redirect-address-in-use' })
    await assert.rejects(call.ready, { name: 'TypeError', message: /without announcing/ })
  })

  it('hold the provider to one exact announcement before its result', async () => {
    const answer = { status: 'submitted' as const, value: { query } }
    const receiver = (...uris: string[]) => externalRedirectImplementation('tui', {
      receive: async (_, { progress }) => {
        for (const redirectUri of uris) progress({ type: 'ready', redirectUri })
        return answer
      },
    })
    const announced: unknown[] = []
    assert.deepEqual(await handle(receiver(exactRedirectUri), 'receive', request, value => announced.push(value)), answer)
    assert.deepEqual(announced, [{ type: 'ready', redirectUri: exactRedirectUri }])
    await assert.rejects(handle(receiver(), 'receive', request), { name: 'TypeError', message: /before announcing/ })
    await assert.rejects(handle(receiver('http://127.0.0.1:1456/oauth/callback'), 'receive', request), { name: 'TypeError', message: /exact requested redirect URI/ })
    await assert.rejects(handle(receiver('http://127.0.0.1:1455/oauth/callback/'), 'receive', request), /exact requested redirect URI/)
    await assert.rejects(handle(receiver(exactRedirectUri, exactRedirectUri), 'receive', request), /more than one ready event/)
    const occupied = externalRedirectImplementation('tui', { receive: () => ({ status: 'unavailable', reason: 'redirect-address-in-use' }) })
    assert.deepEqual(await handle(occupied, 'receive', request), { status: 'unavailable', reason: 'redirect-address-in-use' })
  })

  it('judge a result alone', () => {
    const result = validateExternalRedirectResult({ status: 'submitted', value: { query } })
    assert.deepEqual(result, { status: 'submitted', value: { query } })
    assert.throws(() => validateExternalRedirectResult({ status: 'submitted', value: { query: { a: 'x' } } }),
      { message: 'ExternalRedirect value.query must map names to arrays of strings' })
  })
})
