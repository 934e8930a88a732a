// Runs the snippet in README.md with another port.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

test('the snippet of the README pays', () => {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const [, snippet] = readme.match(/^```js\n([\s\S]*?)^```$/m);
  assert.ok(snippet.includes('http://127.0.0.1:5555'));
  const source = snippet.replace('http://127.0.0.1:5555', process.env.SILICA_URL);
  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: new URL('.', import.meta.url),
    encoding: 'utf8',
  });
  assert.match(output, /^[0-9a-f]{64} \{/);
  assert.match(output, /success: true/);
});
