import { post } from '../../api/client.ts'
import { useLive } from '../../live.ts'
import { bytes, count, duration, number } from '../../parts/format.ts'
import { LiveRecords } from '../../parts/live-records.tsx'
import { Badge, Facts, FromFile, Panel } from '../../parts/panel.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'
import { Notice } from '../../parts/states.tsx'
import { PipelineState } from './pipeline-state.tsx'
import { keyOf, type OwnedPipeline } from './pipeline.ts'
import styles from './pipelines.module.css'

/** What a pipeline does, and its records as they come. The configuration file owns it. */
export function PipelineSheet({ pipeline, onClose }: { pipeline: OwnedPipeline; onClose: () => void }) {
  const { name, route, dataset, source, owner, state, error_message: error, edged_source: place } = pipeline
  const live = useLive(state === 'ended' ? undefined : keyOf(pipeline), async () => {
    const { destination_conf: url } = await post<{ destination_conf: string }>(`${owner.path}/edged/tail`, {
      pipeline: name,
      ...(route !== undefined && { route }),
    })
    return { url }
  })
  return (
    <Sheet
      wide
      title={`Pipeline ${name}${route === undefined ? '' : ` · ${route}`}`}
      onClose={onClose}
      actions={place ? <FromFile source={place} /> : <Badge>From the configuration file</Badge>}
    >
      <SheetBody>
        {error !== null && (
          <Notice kind="bad">
            <span className={styles['wrap']}>{error}</span>
          </Notice>
        )}
        <Facts
          rows={[
            ['State', <PipelineState key="state" state={state} />],
            ['Reads', `${dataset} from ${source === 'zone' || source === 'account' ? owner.name : source}`],
            [
              'Destination',
              <code key="to" className={styles['wrap']}>
                {pipeline.destination_conf}
              </code>,
            ],
            [
              'Not sent yet',
              pipeline.lag_records === 0
                ? 'None'
                : `${count(pipeline.lag_records, 'record')}, ${duration(Math.round(pipeline.lag_seconds))}`,
            ],
            ['Read', count(pipeline.records_read, 'record')],
            ['Delivered', `${count(pipeline.records_delivered, 'record')}, ${bytes(pipeline.delivered_bytes)}`],
            ['Left out', leftOut(pipeline)],
            ['Failed attempts', number(pipeline.upload_failures)],
            ['Being sent', count(pipeline.batches_in_flight, 'batch', 'batches')],
          ]}
        />
        <Panel title="Records as they come">
          <LiveRecords live={live} waits="No record yet. Records show here when the pipeline reads them." />
        </Panel>
      </SheetBody>
    </Sheet>
  )
}

function leftOut(pipeline: OwnedPipeline): string {
  const parts = [
    [pipeline.records_invalid, 'invalid'],
    [pipeline.records_repeated, 'repeated'],
    [pipeline.records_sampled_out, 'sampled out'],
    [pipeline.records_dropped, 'dropped'],
    [pipeline.records_lost ?? 0, 'lost'],
  ] as const
  const some = parts.filter(([records]) => records > 0).map(([records, what]) => `${number(records)} ${what}`)
  return some.length === 0 ? 'None' : some.join(', ')
}
