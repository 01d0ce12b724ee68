import { useAddress, useGo } from '../../address.tsx'
import { bytes, categoryName, number, percent, short } from '../../parts/format.ts'
import { State } from '../../parts/panel.tsx'
import { DataTable, type Column } from '../../parts/table.tsx'
import type { Access } from './access.ts'
import { AccessCell } from './access-cell.tsx'
import { verificationOf, type AgentRow, type Verification } from './agent-data.ts'

const VERIFIED: Readonly<Record<Verification, React.ReactNode>> = {
  signature: <State tone="ok">Signature</State>,
  address: <State tone="ok">Address</State>,
  partly: <State tone="warn">Partly</State>,
  none: <State tone="warn">No</State>,
}

export const VerifiedState = ({ agent }: { agent: AgentRow | undefined }) => agent && VERIFIED[verificationOf(agent)]

export const columnsFor = (access: Access): readonly Column<AgentRow>[] => [
  {
    key: 'name',
    title: 'Name',
    card: 'title',
    width: 130,
    cell: ({ name }) => <strong>{name}</strong>,
    sort: ({ name }) => name.toLowerCase(),
  },
  {
    key: 'operator',
    title: 'Operator',
    width: 150,
    fill: true,
    cell: ({ operator, category }) => (
      <>
        {operator} <span className="soft">{categoryName(category)}</span>
      </>
    ),
    sort: ({ operator }) => operator.toLowerCase(),
  },
  {
    key: 'verified',
    title: 'Verified',
    width: 104,
    cell: (agent) => VERIFIED[verificationOf(agent)],
    sort: verificationOf,
  },
  {
    key: 'requests',
    title: 'Requests',
    width: 96,
    numeric: true,
    card: 'fact',
    cell: ({ requests }) => number(requests),
    sort: ({ requests }) => requests,
  },
  {
    key: 'markdown',
    title: 'Markdown',
    width: 96,
    numeric: true,
    card: 'fact',
    cell: ({ markdown_requests: markdown, requests }) => percent(markdown, requests),
    sort: ({ markdown_requests: markdown, requests }) => markdown / Math.max(requests, 1),
  },
  {
    key: 'refused',
    title: 'Not converted',
    width: 112,
    numeric: true,
    cell: ({ refused }) => number(refused),
    sort: ({ refused }) => refused,
  },
  {
    key: 'saved',
    title: 'Tokens saved',
    width: 108,
    numeric: true,
    cell: ({ tokens_saved: saved }) => short(saved),
    sort: ({ tokens_saved: saved }) => saved,
  },
  {
    key: 'tokens',
    title: 'Tokens sent',
    width: 104,
    numeric: true,
    optional: true,
    cell: ({ tokens }) => short(tokens),
    sort: ({ tokens }) => tokens,
  },
  {
    key: 'bytes',
    title: 'Bytes',
    width: 96,
    numeric: true,
    optional: true,
    cell: ({ bytes: size }) => bytes(size),
    sort: ({ bytes: size }) => size,
  },
  {
    key: 'access',
    title: 'Access',
    width: 196,
    card: 'state',
    cell: (agent) => <AccessCell agent={agent} access={access} />,
  },
]

/** Agents, those with the most requests first. */
export function AgentTable({
  rows,
  columns,
  hidden,
}: {
  rows: readonly AgentRow[]
  columns: readonly Column<AgentRow>[]
  hidden: readonly string[]
}) {
  const go = useGo()
  const { search } = useAddress()
  return (
    <DataTable
      label="Agents"
      rows={rows}
      columns={columns}
      hidden={hidden}
      keyOf={({ name }) => name}
      onOpen={({ name }) => go({ rest: [name], search })}
      nameOf={({ name }) => name}
    />
  )
}
