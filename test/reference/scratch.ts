/**
 * Where tests put thousands of small files for a moment: memory where the system has a folder for it,
 * since each file that is cut or replaced on a disk costs more than what is tested with it.
 */

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';

export const scratch = (): string => (existsSync(MEMORY) ? MEMORY : tmpdir());
