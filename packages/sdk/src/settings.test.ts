import { describe, expect, it } from 'vitest';
import { connectionOf, type Environment, type MayflyOptions } from './settings.ts';

const file = JSON.stringify({
  current: 'home',
  profiles: {
    home: { url: 'https://home.example.com', api_key: 'mf_home' },
    work: { url: 'https://work.example.com/mayfly', api_key: 'mf_work' },
  },
});
const host = (env: Environment['env'], text: string | null = file): Environment => ({
  env: { HOME: '/home/ada', ...env },
  readFile: (path) => (path === '/home/ada/.config/mayfly/config.json' ? (text ?? undefined) : undefined),
});
const target = (options: MayflyOptions, environment: Environment) => {
  const { baseUrl, apiKey } = connectionOf(options, environment);
  return [baseUrl, apiKey];
};

describe('where requests go', () => {
  it('options come before variables, and variables before the profile', () => {
    const env = { MAYFLY_BASE_URL: 'http://env:1', MAYFLY_API_KEY: 'mf_env' };
    expect(target({ baseUrl: 'http://own:2/v1/', apiKey: 'mf_own' }, host(env))).toEqual(['http://own:2/v1', 'mf_own']);
    expect(target({}, host(env))).toEqual(['http://env:1/v1', 'mf_env']);
    expect(target({}, host({}))).toEqual(['https://home.example.com/v1', 'mf_home']);
    expect(target({}, host({ MAYFLY_PROFILE: 'work' }))).toEqual(['https://work.example.com/mayfly/v1', 'mf_work']);
    expect(target({ profile: 'work' }, host({}))[1]).toBe('mf_work');
  });

  it('a profile that is named comes before variables, whose key is never sent to its service', () => {
    const env = { MAYFLY_BASE_URL: 'http://env:1', MAYFLY_API_KEY: 'mf_env' };
    const work = ['https://work.example.com/mayfly/v1', 'mf_work'];
    expect(target({ profile: 'work' }, host(env))).toEqual(work);
    expect(target({}, host({ ...env, MAYFLY_PROFILE: 'work' }))).toEqual(work);
    expect(target({ profile: 'work', apiKey: 'mf_own' }, host(env))).toEqual([work[0], 'mf_own']);
    expect(() => target({ profile: 'work', baseUrl: 'http://own:2' }, host(env))).toThrow('There is no API key');
    expect(() => target({ profile: 'none', baseUrl: 'http://own:2', apiKey: 'mf_own' }, host(env))).toThrow(
      'has no profile "none"',
    );
  });

  it('variables that are empty or may not be read count as absent', () => {
    const empty = { MAYFLY_BASE_URL: '', MAYFLY_API_KEY: '', MAYFLY_PROFILE: '', XDG_CONFIG_HOME: '' };
    expect(target({}, host(empty))).toEqual(['https://home.example.com/v1', 'mf_home']);
    const get = () => {
      throw new Error('Requires env access');
    };
    const closed = { env: new Proxy({}, { get }), readFile: () => undefined };
    expect(target({ apiKey: 'mf_x' }, closed)).toEqual(['http://127.0.0.1:8080/v1', 'mf_x']);
    expect(() => target({}, closed)).toThrow('There is no API key');
  });

  it('without a URL it is the service on this machine', () => {
    expect(target({ apiKey: 'mf_x' }, host({}, null))).toEqual(['http://127.0.0.1:8080/v1', 'mf_x']);
  });

  it('the key of a profile is never sent to another service', () => {
    expect(() => target({ baseUrl: 'http://elsewhere' }, host({}))).toThrow(
      'There is no API key for http://elsewhere/v1. Pass apiKey, set MAYFLY_API_KEY, or run "mayfly login" once.',
    );
    expect(target({ baseUrl: 'https://home.example.com/' }, host({}))[1]).toBe('mf_home');
  });

  it.each(['mf_secret\nmore', 'mf_sécret', 'mf secret', 'mf_secret\u0000'])(
    'a key that no service can have made is refused without being shown: %j',
    (apiKey) => {
      const message = /^The API key contains characters that no key has\. Check where it was copied from\.$/;
      expect(() => target({}, host({ MAYFLY_API_KEY: apiKey }))).toThrow(message);
      expect(() => target({ apiKey }, host({}))).toThrow(message);
    },
  );

  it('in a browser there is neither environment nor profile', () => {
    const browser = { env: {}, readFile: () => undefined };
    expect(() => connectionOf({}, browser)).toThrow('There is no API key');
    expect(target({ apiKey: 'mf_x', baseUrl: 'https://a.example' }, browser)).toEqual(['https://a.example/v1', 'mf_x']);
  });

  it('says what is wrong with a URL, a profile or its file', () => {
    expect(() => target({ baseUrl: 'localhost' }, host({ MAYFLY_API_KEY: 'x' }))).toThrow('"localhost" is not a URL');
    expect(() => target({ baseUrl: 'ftp://x', apiKey: 'x' }, host({}))).toThrow('must begin with http:// or https://');
    expect(() => target({ profile: 'none' }, host({}))).toThrow(
      'has no profile "none". Run "mayfly login --profile none"',
    );
    expect(() => target({ profile: 'none' }, host({}, null))).toThrow('There is no profile "none"');
    expect(() => target({}, host({}, '{'))).toThrow('config.json is not valid JSON. Correct it, or move it away');
  });
});
