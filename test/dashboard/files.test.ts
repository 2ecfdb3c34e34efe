import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { call, createSandbox, output } from '../support/api-requests.ts';
import type { TestBrowser } from '../support/browser.ts';
import type { TestService } from '../support/test-service.ts';
import { button, heading, openPage, signIn, useDashboard } from './harness.ts';

/** A shell, a page or a person could take it for something else. */
const hostileFile = `it's "a" $(touch x) <img src=x>\u202E-rf\nnew`;

let service: TestService;
let browser: TestBrowser;
let id: string;
useDashboard(async (dashboard) => {
  ({ service, browser } = dashboard);
  ({ id } = await createSandbox(service));
});

/** Its note follows the name of a folder. */
const shownName = (page: Page, name: string) => page.getByRole('heading', { name: new RegExp(`^${name}`) }).waitFor();
const write = (path: string, content: string) => call(service, 'PUT', `/sandboxes/${id}/files`, { path, content });

it('creates, edits and saves a file, and asks before it overwrites or forgets what somebody has changed', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/files`);
  const { page, problems } = opened;
  await signIn(page);
  await page.getByText('The folder is empty').waitFor();
  await button(page, 'New folder').click();
  await page.getByLabel('Name', { exact: true }).fill('a folder');
  await button(page, 'Create folder').click();
  await shownName(page, 'a folder');
  await button(page, 'New file').click();
  await page.getByLabel('Name', { exact: true }).fill('hello.py');
  await button(page, 'Create file').click();
  const editor = page.getByRole('textbox', { name: 'Content of hello.py' });
  await editor.click();
  await page.keyboard.type('print("mine")');
  await page.keyboard.press('Control+s');
  await page.getByText('As it is in the sandbox').waitFor();
  expect(await output(service, id, 'python3 "a folder/hello.py"')).toBe('mine');

  await write('a folder/hello.py', 'print("theirs")');
  await editor.click();
  await page.keyboard.type('#');
  await page.keyboard.press('Control+s');
  await heading(page, 'The file was changed meanwhile').waitFor();
  await button(page, 'Discard mine, load theirs').click();
  await page.getByText('theirs').waitFor();

  await editor.click();
  await page.keyboard.type('#');
  await page.getByRole('treeitem', { name: 'a folder' }).click();
  await heading(page, 'Leave without saving?').waitFor();
  await button(page, 'Leave').click();
  await shownName(page, 'a folder');
  expect(await output(service, id, 'cat "a folder/hello.py"')).toBe('print("theirs")');
  expect(problems).toEqual([]);
});

it('uploads and downloads files, and folders as archives', async () => {
  await using opened = await openPage(browser, service, `/sandboxes/${id}/files`);
  const { page, problems } = opened;
  await signIn(page);
  const bytes = Buffer.from([0, 255, 128, 10, 13]);
  const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });
  const upload = page.getByLabel('Files to upload');
  await upload.setInputFiles([file('small.bin', bytes), file('too-large.bin', Buffer.alloc(8_388_609))]);
  await page.getByText('1 of 2').waitFor();
  await page.getByText('It is larger than 8 MiB').waitFor();
  await upload.setInputFiles([file('small.bin', Buffer.from('replaced'))]);
  await button(page, 'Replace it').click();
  await page.getByText('2 of 3').waitFor();
  expect(await output(service, id, 'cat small.bin')).toBe('replaced');

  await output(service, id, 'head -c 9000000 /dev/zero > large.bin');
  await button(page, 'Reload').click();
  await page.getByRole('treeitem', { name: 'large.bin' }).click();
  const [large] = await Promise.all([page.waitForEvent('download'), button(page, 'Download').click()]);
  expect(large.suggestedFilename()).toBe('large.bin');
  await page.goto(`${service.url}/sandboxes/${id}/files`);
  await shownName(page, 'workspace');
  const [archive] = await Promise.all([page.waitForEvent('download'), button(page, 'Download as an archive').click()]);
  expect(archive.suggestedFilename()).toBe('workspace.tar.gz');
  expect(await output(service, id, 'ls /var/tmp | grep -c mayfly-download || true')).toBe('0');
  expect(problems).toEqual([]);
});

it('shows hostile names as text, and opens, moves and deletes what they name', async () => {
  await write(hostileFile, 'content of the hostile one');
  const path = new URLSearchParams({ path: `/workspace/${hostileFile}` });
  await using opened = await openPage(browser, service, `/sandboxes/${id}/files?${path.toString()}`);
  const { page, problems } = opened;
  await signIn(page);
  await page.getByText('content of the hostile one').waitFor();
  expect(await page.getByRole('treeitem', { name: 'touch x' }).textContent()).toContain(
    `it's "a" $(touch x) <img src=x>\\u{202e}-rf\\nnew`,
  );
  await button(page, 'Rename or move').click();
  await page.getByLabel('New name or path').fill(`moved ${hostileFile.split('\n', 1)[0]}`);
  await button(page, 'Rename').click();
  await heading(page, 'Rename or move').waitFor({ state: 'detached' });
  // Until it is opened under its new name, the page shows the old one.
  await shownName(page, 'moved');
  await page.getByText('content of the hostile one').waitFor();
  await page.getByTitle('Delete', { exact: true }).click();
  await button(page, 'Delete the file').click();
  await shownName(page, 'workspace');
  expect(await output(service, id, 'ls | grep -c -e touch -e "^x$" || true')).toBe('0');
  expect(problems).toEqual([]);
});

it('says what it cannot show, and what to do', async () => {
  await output(service, id, 'mkfifo pipe; ln -sfn / root; printf "a\\0b" > binary');
  await using opened = await openPage(browser, service, `/sandboxes/${id}/files?path=/workspace/pipe`);
  const { page, problems } = opened;
  await signIn(page);
  await page.getByText('A device, socket or pipe').waitFor();
  await page.getByRole('treeitem', { name: 'binary' }).click();
  await page.getByText('It is not text').waitFor();
  await page.getByRole('treeitem', { name: 'root' }).click();
  await page.getByRole('list', { name: 'Entries' }).getByText('etc', { exact: true }).waitFor();
  await page.goto(`${service.url}/sandboxes/${id}/files?path=/etc/shadow`);
  await page.getByText('permission denied').waitFor();
  expect(problems).toEqual([]);
});
