import { createPresentationHost } from '@dsh-std/presentation'
import { API_VERSION, USER_INTERACTION_KIND, userInteractionImplementation } from '@dsh-std/presentation/interaction'
import type { UserInteractionClient, UserInteractionHandler } from '@dsh-std/presentation/interaction'

// A plugin that asks a question, an approval and a secret. Whatever is not submitted is no consent and no answer.
async function deploy(interaction: UserInteractionClient): Promise<string> {
  const asked = await interaction.interact({
    kind: 'question',
    title: 'Deploy',
    fields: [
      { id: 'target', kind: 'select', label: 'Target', required: true, options: [{ id: 'staging', label: 'Staging' }, { id: 'live', label: 'Live' }] },
      { id: 'note', kind: 'text', label: 'Note', maxLength: 80 },
    ],
  })
  if (asked.status !== 'submitted') return `not asked: ${asked.status}`
  const target = String(asked.value.answers.target)
  const approval = await interaction.interact({ kind: 'approval', action: 'deploy', summary: `Deploy to ${target}`, risk: 'high' })
  if (approval.status !== 'submitted' || approval.value.decision !== 'approved') return 'not approved'
  const token = await interaction.interact({ kind: 'secret-input', label: 'Deploy token', minLength: 8 })
  return token.status === 'submitted' ? `deployed to ${target} with ${token.value.secret.length} characters` : 'no token'
}

// A provider that answers. A real one shows the origin, and asks a person.
const interact = async (request: { readonly kind: string }) => {
  switch (request.kind) {
    case 'question': return { status: 'submitted', value: { answers: { target: 'staging' } } }
    case 'approval': return { status: 'submitted', value: { decision: 'approved' } }
    default: return { status: 'submitted', value: { secret: 'correct horse' } }
  }
}
const operations = ['question', 'approval', 'secret-input'] as const
const provider = userInteractionImplementation('tui', { operations, limits: { maxFields: 8 } }, { interact } as UserInteractionHandler)

// A Host that binds the one to the other. The request has one authority and one result.
const host = createPresentationHost()
host.provide('tui', [provider])
const plugin = host.admit('example.deploy', [{ apiVersion: API_VERSION, kind: USER_INTERACTION_KIND, spec: { operations } }])
const invocation = host.open(plugin)
console.log(await deploy(invocation.clients!.interaction!))
invocation.revoke('approval')
console.log(await deploy(invocation.clients!.interaction!).catch(error => error.code))
host.close()
