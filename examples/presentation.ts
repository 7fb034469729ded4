/** A plugin that asks, and a Host that binds it to a provider. */

import { pathToFileURL } from 'node:url'
// #region readme
import { createPresentationHost } from 'dsh-ag-ui/presentation'
import { API_VERSION, userInteractionImplementation } from 'dsh-ag-ui/presentation/interaction'
import type { UserInteractionClient } from 'dsh-ag-ui/presentation/interaction'
import { policyProvider } from 'dsh-ag-ui/presentation/providers/policy'
import { terminalProvider } from 'dsh-ag-ui/presentation/providers/terminal'

/** A plugin asks; whatever is not submitted is no consent. */
async function push(interaction: UserInteractionClient | undefined, branch: string): Promise<string> {
  const asked = await interaction?.interact({ kind: 'approval', action: 'git.push', summary: `Push ${branch}`, risk: 'low' })
  return asked?.status === 'submitted' ? asked.value.decision : 'not pushed'
}

/** A Host binds: a rule approves small things, a person at the terminal decides the others. */
export async function pushWithApproval(branch: string): Promise<string> {
  const provider = policyProvider({
    rules: [
      { kind: 'approval', decision: 'approve', actions: ['git.push'], maxRisk: 'low' },
      { kind: 'approval', decision: 'ask', actions: ['*'] },
    ],
    handlers: terminalProvider(),
  })
  const host = createPresentationHost({ policy: { bind: [{ consumer: 'git', providers: ['desk'] }] } })
  host.provide('desk', [userInteractionImplementation('desk', { operations: ['approval'] }, provider)])
  const git = host.admit('git', [{ apiVersion: API_VERSION, kind: 'UserInteraction', spec: { operations: ['approval'] } }])
  const invocation = host.open(git, { deadline: 60_000 })
  try {
    return await push(invocation.clients?.interaction, branch)
  } finally {
    host.close()
  }
}
// #endregion

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(await pushWithApproval('main'))
