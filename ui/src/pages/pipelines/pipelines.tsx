import { Page } from '../../parts/page.tsx'

export default function Pipelines() {
  return <Page>Pipelines</Page>
}
