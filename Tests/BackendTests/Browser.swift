import Foundation
import HoldfastTestKit
import Testing

/// Headless Chromium, controlled by a script through its debugging pipe.
enum Browser {
  static let binary = PageCheck.browser

  /// Runs a script with a page of the browser. Returns the value of its variable `seen`.
  ///
  /// The script can use `base` (the address of a server), `given` (further arguments), `urls` (what
  /// the page requested), `complaints`, `call`, `run` and `load`.
  static func run(
    _ script: String, at base: String, _ profile: String, _ given: [String]
  ) async throws -> [String: Any] {
    let lines = [start, script, end].joined(separator: "\n")
    let process = try LabProcess(["python3", "-c", lines, binary ?? "", base, profile] + given)
    let done = await CommandProcess.outcome(of: process)
    let line = try #require(done.output.last, "\(done.errors)")
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  private static let start = #"""
    import json, os, subprocess, sys
    binary, base, profile, *given = sys.argv[1:]
    inner, to = os.pipe()
    back, outer = os.pipe()
    browser = subprocess.Popen(
      ['sh', '-c', 'exec "$@" 3<&%d 4>&%d' % (inner, outer), 'sh', binary, '--headless',
       '--no-sandbox', '--disable-gpu', '--lang=en-US', '--user-data-dir=' + profile,
       '--remote-debugging-pipe', 'about:blank'],
      pass_fds=(inner, outer), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
      env=dict(os.environ, LANGUAGE='en_US', TZ='Pacific/Auckland'))
    os.close(inner); os.close(outer)
    replies = os.fdopen(back, 'rb')
    urls, complaints, rest, number = [], [], b'', 0

    def take():
      global rest
      while b'\0' not in rest:
        more = replies.read1(65536)
        if not more: sys.exit('the browser ended')
        rest += more
      line, rest = rest.split(b'\0', 1)
      message = json.loads(line)
      method, params = message.get('method'), message.get('params', {})
      if method == 'Network.requestWillBeSent': urls.append(params['request']['url'])
      if method == 'Runtime.exceptionThrown': complaints.append(json.dumps(params)[:500])
      if method == 'Log.entryAdded' and not any(
          status in params['entry']['text'] for status in ('400', '401')):
        complaints.append(params['entry']['text'])
      return message

    def call(method, session=None, **params):
      global number
      number += 1
      message = {'id': number, 'method': method, 'params': params}
      if session: message['sessionId'] = session
      os.write(to, json.dumps(message).encode() + b'\0')
      while True:
        reply = take()
        if reply.get('id') == number: return reply['result']

    target = call('Target.createTarget', url='about:blank')['targetId']
    page = call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
    for domain in 'Network', 'Page', 'Runtime', 'Log': call(domain + '.enable', page)

    def run(code):
      found = call('Runtime.evaluate', page, expression=code, awaitPromise=True,
        returnByValue=True)
      if 'exceptionDetails' in found: sys.exit(json.dumps(found['exceptionDetails']))
      return found['result'].get('value')

    # Until the new document is there.
    def load(method, **params):
      run('window.isOld = true')
      call(method, page, **params)
      while not run("!window.isOld && document.readyState === 'complete'"): pass
    """#

  private static let end = """
    browser.kill()
    print(json.dumps(seen))
    """
}
