/** A reviewed plan applied: the rows that it keeps, as they are in the input, as a new file. */

import { applyPlan, type BitOrder, type RowFormat, readPlan } from '../../node';
import type { Call } from '../call';
import { counted, grouped } from '../figures';
import { isIndexFolder } from '../index-folder';
import { typesOf } from '../rows-in';

export async function usePlan(call: Call, input: string): Promise<0> {
  const output = call.text('output');
  if (output === undefined) call.misuse('--apply PLAN writes the kept rows: -o OUT is missing');
  if (input === '-') call.misuse('--apply reads a file, not stdin');
  if (await isIndexFolder(input)) {
    call.misuse(`${input} is an index: drop ids from it by halfspace index ${input} --remove IDS`);
  }
  const plan = await readPlan(call.text('apply') as string);
  const [format, outputFormat] = [call.text('from'), call.text('to')] as (RowFormat | undefined)[];
  const isOfOthers = call.has('text') || call.has('vector');
  const [column, bits] = [isOfOthers ? null : call.text('code'), call.integer('bits')];
  const options = {
    ...(format !== undefined && { format }),
    ...(outputFormat !== undefined && { outputFormat }),
    ...(column !== undefined && { column }),
    ...(bits !== undefined && { bits }),
    bitOrder: call.text('bit-order') as BitOrder,
    types: typesOf(call, input),
    onError: call.text('on-error') as 'stop' | 'skip',
    force: call.flag('force'),
  };
  await call.long('copying', (long) => applyPlan(plan, input, output, { ...options, ...long }));
  const kept = plan.kept.reduce((sum, one) => sum + one, 0);
  call.say(
    `${counted(plan.count, 'row')}: ${grouped(kept)} kept in ${output}, ` +
      `${grouped(plan.count - kept)} left out`,
  );
  return 0;
}
