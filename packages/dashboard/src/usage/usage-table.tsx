import type { UsageDays } from '@mayfly/contract/dashboard';
import { ChevronRight } from 'lucide-react';
import { formatHours, formatLongDay, formatUsd, itemLabels } from './format.ts';

/** The same numbers as in the chart, newest first. */
export function UsageTable({ usage: { data } }: { readonly usage: UsageDays }) {
  if (data.length === 0) return null;
  return (
    <details className="group mt-3">
      <summary className="inline-flex list-none items-center gap-1.5 rounded-sm text-sm text-accent">
        <ChevronRight size={15} aria-hidden className="transition-transform group-open:rotate-90" />
        The numbers as a table
      </summary>
      <div className="table-box mt-3">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Size</th>
              <th scope="col">Sandboxes started</th>
              <th scope="col">Runtime</th>
              <th scope="col" className="end">
                Cost
              </th>
            </tr>
          </thead>
          <tbody>
            {data.toReversed().map(({ date, item, sandboxes, runtime_seconds, cost_usd }) => (
              <tr key={`${date} ${item}`}>
                <th scope="row">{formatLongDay(date)}</th>
                <td data-label="Size">{itemLabels[item]}</td>
                <td data-label="Sandboxes started" className="number">
                  {item === 'storage' ? '–' : sandboxes}
                </td>
                <td data-label="Runtime" className="number">
                  {item === 'storage' ? '–' : formatHours(runtime_seconds / 3_600)}
                </td>
                <td data-label="Cost" className="number end">
                  {formatUsd(cost_usd)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}
