import { useAddress, useGo, useParam } from '../../address.tsx'
import { useColumns } from '../../parts/columns.tsx'
import { TextField } from '../../parts/fields.tsx'
import { NewButton } from '../../parts/new-button.tsx'
import { Page } from '../../parts/page.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Empty, Loading, Problem, Shown } from '../../parts/states.tsx'
import { usePlace } from '../../place.tsx'
import { JobDetail } from './job-detail.tsx'
import { COLUMNS, JobTable } from './job-table.tsx'
import { JobWizard } from './job-wizard.tsx'
import { useJobs, type OwnedJob } from './jobs.ts'

/** Shorter lists need no search. */
const FEW = 8

/** Jobs that send log records to destinations. */
export default function Logs() {
  const { may } = usePlace()
  const jobs = useJobs()
  const [search, setSearch] = useParam('q')
  const { hidden, chooser } = useColumns('jobs', COLUMNS)
  const mayWrite = may('Logs Write')
  const found = jobs.value?.filter((job) => textOf(job).includes(search.toLowerCase()))
  return (
    <Page
      note={!mayWrite && <Badge>Read only: needs Logs Write</Badge>}
      actions={
        <>
          {jobs.value && jobs.value.length > 0 && chooser}
          {mayWrite && <NewButton label="New log job" />}
        </>
      }
    >
      <Panel>
        <Shown read={jobs} what="the log jobs">
          {(all) =>
            all.length === 0 ? (
              <Empty
                title="No log jobs"
                text="A log job sends records of requests, rules, Workers or changes to your own systems, in batches and at least once."
                docs="logpush.html"
                action={mayWrite && <NewButton label="New log job" isPlain />}
              />
            ) : (
              <>
                {all.length > FEW && (
                  <TextField
                    label="Find a log job"
                    hideLabel
                    type="search"
                    placeholder="Find a log job: name, dataset, destination"
                    value={search}
                    onChange={setSearch}
                  />
                )}
                <JobTable jobs={found ?? []} hidden={hidden} mayWrite={mayWrite} />
                {found?.length === 0 && <p className="soft">No log job contains “{search}”.</p>}
              </>
            )
          }
        </Shown>
      </Panel>
      <OpenJob jobs={jobs.value} mayWrite={mayWrite} />
    </Page>
  )
}

const textOf = ({ name, id, dataset, destination_conf: to = '', owner }: OwnedJob): string =>
  `${name ?? `job ${id}`} ${dataset} ${to.split('?')[0]} ${owner.name}`.toLowerCase()

/** The sheet that the address names. */
function OpenJob({ jobs, mayWrite }: { jobs: readonly OwnedJob[] | undefined; mayWrite: boolean }) {
  const { rest } = useAddress()
  const go = useGo()
  const [id, part] = rest
  const close = (): void => go({ rest: [] })
  if (id === undefined) return null
  if (id === 'new') return mayWrite ? <JobWizard onClose={close} /> : null
  const job = jobs?.find((one) => String(one.id) === id)
  if (job && part === 'edit' && mayWrite) return <JobWizard job={job} onClose={() => go({ rest: [id] })} />
  if (job) return <JobDetail job={job} mayWrite={mayWrite} onClose={close} />
  return (
    <Sheet title="Log job" onClose={close}>
      <SheetBody>
        {jobs ? <Problem title="No log job with this id, or this token cannot see it" /> : <Loading />}
      </SheetBody>
    </Sheet>
  )
}
