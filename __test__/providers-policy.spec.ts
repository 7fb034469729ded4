/** The automation policy provider (P11): explicit rules, everything else refused. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { policyProvider } from 'dsh-ag-ui/presentation/providers/policy'
import type { HandlerContext, PolicyRule, Provider } from 'dsh-ag-ui/presentation/providers/policy'
import type { ExternalRedirectReady } from 'dsh-ag-ui/presentation/callback'
import type { ApprovalRequest, QuestionRequest, SecretInputRequest } from 'dsh-ag-ui/presentation/interaction'

const bound = { requestId: 'r', invocationId: 'i', origin: 'plugin:git' }
const context = <P>(): HandlerContext<P> => ({ signal: new AbortController().signal, progress: () => {} })
const ACCEPTED = { status: 'submitted', value: { accepted: true } } as const
const refused = (reason = 'policy-refused'): object => ({ status: 'unavailable', reason })

const approval = (rest: Partial<ApprovalRequest> = {}): ApprovalRequest =>
  ({ ...bound, kind: 'approval', action: 'git.push', summary: 's', risk: 'low', ...rest })
const question = (fields: QuestionRequest['fields'], rest: Partial<QuestionRequest> = {}): QuestionRequest =>
  ({ ...bound, kind: 'question', fields, ...rest })
const secret = (rest: Partial<SecretInputRequest> = {}): SecretInputRequest =>
  ({ ...bound, kind: 'secret-input', label: 'Token', ...rest })

test('without a rule everything is refused, handlers or not', async () => {
  const handlers: Partial<Provider> = {
    openExternal: async () => assert.fail(),
    copyText: async () => assert.fail(),
    notify: async () => assert.fail(),
    interact: async () => assert.fail(),
    receive: async () => assert.fail(),
  }
  for (const provider of [policyProvider({ rules: [] }), policyProvider({ rules: [], handlers })]) {
    assert.deepEqual(await provider.openExternal({ ...bound, uri: 'https://example.org/' }, context()), refused())
    assert.deepEqual(await provider.copyText({ ...bound, text: 'x' }, context()), refused())
    assert.deepEqual(await provider.notify({ ...bound, text: 'x' }, context()), refused())
    assert.deepEqual(await provider.interact(approval(), context()), refused())
    assert.deepEqual(await provider.interact(question([]), context()), refused())
    assert.deepEqual(await provider.interact(secret(), context()), refused())
    assert.deepEqual(await provider.receive({ ...bound, mode: 'http-get' }, context()), refused())
  }
})

test('approvals by action, origin and risk; the first rule that fits decides', async () => {
  const provider = policyProvider({
    rules: [
      { kind: 'approval', decision: 'deny', actions: ['git.push.force'] },
      { kind: 'approval', decision: 'approve', actions: ['git.*'], origin: ['plugin:git'], maxRisk: 'medium' },
      { kind: 'approval', decision: 'ask', actions: ['*'] },
    ],
  })
  const decide = async (rest: Partial<ApprovalRequest>): Promise<unknown> => {
    const result = await provider.interact(approval(rest), context())
    return result.status === 'submitted' ? result.value : result
  }
  assert.deepEqual(await decide({}), { decision: 'approved' })
  assert.deepEqual(await decide({ risk: 'medium' }), { decision: 'approved' })
  assert.deepEqual(await decide({ action: 'git.push.force' }), { decision: 'denied' })
  // These go to a person, of whom there is none.
  assert.deepEqual(await decide({ risk: 'high' }), refused('policy-no-handler'))
  assert.deepEqual(await decide({ action: 'gits' }), refused('policy-no-handler'))
  assert.deepEqual(await decide({ origin: 'plugin:evil' }), refused('policy-no-handler'))
  const { risk: _, ...unstated } = approval()
  assert.deepEqual(await provider.interact(unstated, context()), refused('policy-no-handler'))
})

test('questions are answered only when every answer fits', async () => {
  const rule = (answers: Record<string, string | boolean | string[]>): PolicyRule => ({ kind: 'question', decision: 'answer', titles: ['Setup'], answers })
  const fields: QuestionRequest['fields'] = [
    { id: 'name', kind: 'text', label: 'Name', required: true, minLength: 2, maxLength: 4 },
    { id: 'one', kind: 'select', label: 'One', options: [{ id: 'a', label: 'A' }] },
    { id: 'many', kind: 'select', label: 'Many', multiple: true, options: [{ id: 'a', label: 'A' }, { id: 'b', label: 'B' }] },
    { id: 'sure', kind: 'confirm', label: 'Sure' },
  ]
  const answer = (answers: Record<string, string | boolean | string[]>, title = 'Setup') =>
    policyProvider({ rules: [rule(answers)] }).interact(question(fields, { title }), context())
  const good = { name: 'Ada', one: 'a', many: ['b', 'a'], sure: false }
  assert.deepEqual(await answer({ ...good, unknown: 'x' }), { status: 'submitted', value: { answers: good } })
  assert.deepEqual(await answer({ name: 'Ada' }), { status: 'submitted', value: { answers: { name: 'Ada' } } })
  for (const bad of [
    {}, { name: 'A' }, { name: 'Adele' }, { name: 'a\nb' }, { name: true }, { name: 'Ada', one: 'b' }, { name: 'Ada', one: ['a'] },
    { name: 'Ada', many: ['a', 'a'] }, { name: 'Ada', many: 'a' }, { name: 'Ada', many: ['c'] }, { name: 'Ada', sure: 'yes' },
  ]) {
    assert.deepEqual(await answer(bad as never), refused('policy-no-answer'), JSON.stringify(bad))
  }
  assert.deepEqual(await answer(good, 'Other'), refused())
  // `toString` is no prepared answer.
  const inherited = policyProvider({ rules: [{ kind: 'question', decision: 'answer', answers: {} }] })
  assert.deepEqual(
    await inherited.interact(question([{ id: 'toString', kind: 'text', label: 'x', required: true }]), context()),
    refused('policy-no-answer'),
  )
})

test('a secret is read when it is wanted, and a failing source stays silent', async () => {
  let reads = 0
  const supply = (source: () => string | undefined) =>
    policyProvider({ rules: [{ kind: 'secret-input', decision: 'supply', labels: ['Token'], source }] })
  const provider = supply(() => {
    reads += 1
    return 'hunter2'
  })
  assert.deepEqual(await provider.interact(secret({ label: 'Password' }), context()), refused())
  assert.equal(reads, 0)
  assert.deepEqual(await provider.interact(secret(), context()), { status: 'submitted', value: { secret: 'hunter2' } })
  assert.deepEqual(await provider.interact(secret({ minLength: 8 }), context()), refused('policy-no-answer'))
  assert.deepEqual(await supply(() => undefined).interact(secret(), context()), refused('policy-no-answer'))
  const failing = await supply(() => {
    throw new Error('hunter2')
  }).interact(secret(), context())
  assert.deepEqual(failing, refused('policy-no-answer'))
})

test('pages by host, text by length, redirects by URI; what is allowed goes to the handler', async () => {
  const seen: unknown[] = []
  const provider = policyProvider({
    rules: [
      { kind: 'open-external', decision: 'deny', hosts: ['evil.example.org'] },
      { kind: 'open-external', decision: 'allow', hosts: ['example.org', '*.Example.org'] },
      { kind: 'copy-text', decision: 'allow', maxLength: 3 },
      { kind: 'notification', decision: 'accept', origin: ['plugin:git'] },
      { kind: 'notification', decision: 'allow' },
      { kind: 'external-redirect', decision: 'allow' },
      { kind: 'external-redirect', decision: 'allow', exactRedirectUris: ['http://127.0.0.1:8080/cb'] },
    ],
    handlers: {
      openExternal: async ({ uri }) => (seen.push(uri), ACCEPTED),
      copyText: async ({ text }) => (seen.push(text), ACCEPTED),
      notify: async ({ text }) => (seen.push(text), ACCEPTED),
      receive: async ({ exactRedirectUri }, { progress }) => {
        progress({ type: 'ready', redirectUri: exactRedirectUri ?? 'chosen' })
        return { status: 'expired' }
      },
    },
  })
  const open = (uri: string) => provider.openExternal({ ...bound, uri }, context())
  assert.deepEqual(await open('https://EXAMPLE.org:8443/a'), ACCEPTED)
  assert.deepEqual(await open('https://a.b.example.org/'), ACCEPTED)
  for (const uri of ['https://evil.example.org/', 'https://example.org.evil/', 'https://badexample.org/', 'https://u:example.org@evil/', 'file://example.org/', 'https:example.org']) {
    assert.deepEqual(await open(uri), refused(), uri)
  }
  assert.deepEqual(await provider.copyText({ ...bound, text: 'abc' }, context()), ACCEPTED)
  assert.deepEqual(await provider.copyText({ ...bound, text: 'abcd' }, context()), refused())
  assert.deepEqual(await provider.notify({ ...bound, text: 'quiet' }, context()), ACCEPTED)
  assert.deepEqual(await provider.notify({ ...bound, origin: 'other', text: 'shown' }, context()), ACCEPTED)
  assert.deepEqual(seen, ['https://EXAMPLE.org:8443/a', 'https://a.b.example.org/', 'abc', 'shown'])
  const announced: ExternalRedirectReady[] = []
  const redirect = (exactRedirectUri?: string) => provider.receive(
    { ...bound, mode: 'http-get', ...(exactRedirectUri !== undefined && { exactRedirectUri }) },
    { ...context(), progress: value => announced.push(value) },
  )
  assert.deepEqual(await redirect(), { status: 'expired' })
  assert.deepEqual(await redirect('http://127.0.0.1:8080/cb'), { status: 'expired' })
  assert.deepEqual(await redirect('http://127.0.0.1:8081/cb'), refused())
  assert.deepEqual(announced.map(({ redirectUri }) => redirectUri), ['chosen', 'http://127.0.0.1:8080/cb'])
})

test('what a person has to decide goes to the person', async () => {
  const request = approval({ risk: 'high' })
  const provider = policyProvider({
    rules: [{ kind: 'approval', decision: 'ask', actions: ['*'] }, { kind: 'question', decision: 'ask' }, { kind: 'secret-input', decision: 'ask', labels: ['*'] }],
    handlers: { interact: async given => (assert.equal(given.origin, 'plugin:git'), { status: 'cancelled' }) },
  })
  assert.deepEqual(await provider.interact(request, context()), { status: 'cancelled' })
  assert.deepEqual(await provider.interact(question([]), context()), { status: 'cancelled' })
  assert.deepEqual(await provider.interact(secret(), context()), { status: 'cancelled' })
})

test('rules are checked, copied and frozen when the provider is made', async () => {
  const table: [unknown, string][] = [
    ['x', 'rules must be an array'],
    [[1], 'rules[0] must be an object'],
    [[{ kind: 'aproval' }], 'rules[0].kind must be one of open-external, copy-text, notification, external-redirect, approval, question, secret-input'],
    [[{ kind: 'toString', decision: 'allow' }], 'rules[0].kind must be one of open-external, copy-text, notification, external-redirect, approval, question, secret-input'],
    [[{ kind: 'approval', decision: 'allow', actions: ['a'] }], 'rules[0].decision must be one of approve, deny, ask'],
    [[{ kind: 'approval', decision: 'deny' }], 'rules[0].actions must be given'],
    [[{ kind: 'approval', decision: 'approve', actions: ['a'] }], 'rules[0].maxRisk must be given with the decision approve'],
    [[{ kind: 'approval', decision: 'approve', actions: ['a'], maxRisk: 'none' }], 'rules[0].maxRisk must be one of low, medium, high'],
    [[{ kind: 'approval', decision: 'deny', actions: [] }], 'rules[0].actions must be a non-empty array of non-empty strings'],
    [[{ kind: 'approval', decision: 'deny', actions: ['a*b'] }], 'rules[0].actions[0] has a star where it cannot stand'],
    [[{ kind: 'approval', decision: 'deny', actions: ['a'], orgin: ['x'] }], 'rules[0].orgin is not a member of this kind of rule'],
    [[{ kind: 'open-external', decision: 'allow', hosts: ['example.*'] }], 'rules[0].hosts[0] has a star where it cannot stand'],
    [[{ kind: 'open-external', decision: 'allow', hosts: ['*.*'] }], 'rules[0].hosts[0] has a star where it cannot stand'],
    [[{ kind: 'copy-text', decision: 'allow', maxLength: 0 }], 'rules[0].maxLength must be a positive safe integer'],
    [[{ kind: 'question', decision: 'answer' }], 'rules[0].answers must be given with the decision answer'],
    [[{ kind: 'question', decision: 'answer', answers: { a: 1 } }], 'rules[0].answers must be a record of answers'],
    [[{ kind: 'secret-input', decision: 'supply', labels: ['a'] }], 'rules[0].source must be given with the decision supply'],
    [[{ kind: 'notification', decision: 'allow' }, { kind: 'notification', decision: 'ask' }], 'rules[1].decision must be one of allow, accept, deny'],
  ]
  for (const [rules, message] of table) {
    assert.throws(() => policyProvider({ rules: rules as PolicyRule[] }), { name: 'TypeError', message })
  }
  const answers = { name: 'Ada' }
  const rules: PolicyRule[] = [{ kind: 'question', decision: 'answer', answers }]
  const provider = policyProvider({ rules })
  answers.name = 'Eve'
  rules.length = 0
  const result = await provider.interact(question([{ id: 'name', kind: 'text', label: 'Name' }]), context())
  assert.deepEqual(result, { status: 'submitted', value: { answers: { name: 'Ada' } } })
})
