import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// The exports, data directory and servers for a test of `holdfast health sync`.
final class SyncRig: Sendable {
  static let steps = "HKQuantityTypeIdentifierStepCount"
  static let heart = "HKQuantityTypeIdentifierHeartRate"
  static let secret = "hush-hush-hush-hush"
  /// Options for retries at short intervals without a limit on their number.
  static let quick = [
    "--set", "retry.first=100ms*1 max 100ms +-0.0 min 100ms xunlimited", "--set",
    "retry.reconnect=100ms*1 max 100ms +-0.0 min 100ms xunlimited", "--set", "retry.windows=60/30s",
    "--set",
    "retry.serverJitter=1ms",
  ]

  let scratch: Scratch

  init() throws {
    scratch = try Scratch()
    try scratch.write(Array("\(Self.secret)\n".utf8), to: "secret")
    try scratch.write(Array("ann \(Self.secret) Etc/UTC\n".utf8), to: "secrets")
  }

  var data: String { scratch("phone") }

  /// Writes an export with samples that begin at the given minutes of January 2026.
  ///
  /// The export is dated day `day` of that month, `second` seconds after noon.
  func export(
    _ samples: [(type: String, minutes: [Int])], day: Int = 2, second: Int = 0,
    to name: String = "export.xml"
  ) throws {
    var text = "<?xml version=\"1.0\"?>\n<HealthData locale=\"en\">\n"
    let (date, time) = (Self.two(day), "12:\(Self.two(second / 60)):\(Self.two(second % 60))")
    text += "<ExportDate value=\"2026-01-\(date) \(time) +0000\"/>\n"
    for (type, minutes) in samples {
      for minute in minutes {
        let time = Self.time(minute).replacingOccurrences(of: "T", with: " ")
          .replacingOccurrences(of: "Z", with: " +0000")
        text +=
          "<Record type=\"\(type)\" sourceName=\"Watch\" unit=\"count\" startDate=\"\(time)\" "
          + "endDate=\"\(time)\" value=\"\(minute)\"/>\n"
      }
    }
    try scratch.write(Array((text + "</HealthData>\n").utf8), to: name)
  }

  /// Returns the time that is `minute` minutes after the beginning of 2026.
  static func time(_ minute: Int) -> String {
    "2026-01-\(two(1 + minute / 1_440))T\(two(minute / 60 % 24)):\(two(minute % 60)):00Z"
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  func importExport(_ name: String = "export.xml") async throws {
    let done = try await CommandProcess.run(
      "health", "import", scratch(name), "--data", data, "--json")
    #expect(done.status == 0, "\(done.errors)")
  }

  func arguments(_ url: String, _ more: [String]) -> [String] {
    [
      "health", "sync", "--server", url, "--secret-file", scratch("secret"), "--data", data,
      "--json",
    ] + more
  }

  /// Runs `health sync --once`.
  func sync(_ url: String, _ more: String...) async throws -> SyncRun {
    let done = try await CommandProcess.run(arguments(url, ["--once"] + more))
    return SyncRun(
      status: done.status, events: try done.output.map { try .reading($0) }, errors: done.errors)
  }

  /// Returns the counts of a type that `health status` prints.
  func status(_ type: String = steps) async throws -> [String: Any] {
    let done = try await CommandProcess.run("health", "status", "--data", data, "--json")
    let all = try done.output.map { try [String: Any].reading($0) }
    return try #require(
      all.first { $0["event"] as? String == "type" && $0["type"] as? String == type })
  }

  /// The names of the payload files that wait to be sent.
  var files: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: data + "/health-sync")) ?? []).sorted()
  }

  /// Returns, by type, the minutes of the samples that the backend stores, in order.
  ///
  /// A sample that is stored twice occurs twice.
  ///
  /// - Parameters:
  ///   - directory: The backend's data directory.
  ///   - user: The owner of the samples.
  func held(
    in directory: String = "server", of user: String = "ann"
  ) async throws -> [String: [Int]] {
    let script = """
      import json, sqlite3
      rows = sqlite3.connect('\(scratch(directory))/sync.sqlite').execute(
        "select raw from samples join names on names.id = user where names.text = '\(user)'")
      for (raw,) in rows:
        record = json.loads(raw)
        print(record['recordType'], int(record['value']))
      """
    let done = await CommandProcess.outcome(of: try LabProcess(["python3", "-c", script]))
    #expect(done.errors == [])
    var held: [String: [Int]] = [:]
    for line in done.output {
      let fields = line.split(separator: " ")
      held[String(fields[0]), default: []].append(Int(fields[1]) ?? -1)
    }
    return held.mapValues { $0.sorted() }
  }

  /// Returns the start times of the stored records and workouts in the form in which they were
  /// sent.
  func starts() async throws -> [String] {
    let script = """
      import json, sqlite3
      rows = sqlite3.connect('\(scratch("server"))/sync.sqlite').execute('select raw from samples')
      print(*sorted(json.loads(raw)['startTime'] for (raw,) in rows), sep='\\n')
      """
    let done = await CommandProcess.outcome(of: try LabProcess(["python3", "-c", script]))
    #expect(done.errors == [])
    return done.output
  }

  /// Starts `holdfast serve` on a port.
  func serve(
    port: Int = Int(TestPort.random()), in directory: String = "server", _ more: String...
  ) async throws -> (process: LabProcess, url: String, port: Int) {
    let process = try CommandProcess.start(
      [
        "serve", "--port", "\(port)", "--json", "--data", scratch(directory),
        "--sync-secret-file", scratch("secrets"), "--log-level", "error",
      ] + more)
    let first = try [String: Any].reading(await LineReader(process.lines).next())
    let url = try #require(first["url"] as? String)
    return (process, url, try #require(url.split(separator: ":").last.flatMap { Int($0) }))
  }
}

/// The result of a run of `health sync --once`.
struct SyncRun {
  var status: Int32
  var events: [[String: Any]]
  var errors: [String]

  /// Returns the events of batches that entered a state.
  func batches(_ state: String) -> [[String: Any]] {
    events.filter { $0["event"] as? String == "batch" && $0["state"] as? String == state }
  }

  /// Returns the number of records in the batches that entered a state.
  func records(_ state: String) -> Int {
    batches(state).reduce(0) { $0 + ($1["records"] as? Int ?? 0) }
  }

  /// Returns the last event of a type, or `nil` if there is none.
  func type(_ name: String = SyncRig.steps) -> [String: Any]? {
    events.last { $0["event"] as? String == "type" && $0["type"] as? String == name }
  }
}

/// A sync server in Python that follows a plan, and afterwards accepts every batch.
///
/// The plan has one entry for each `POST /api/sync`. An entry is a status, `[status, Retry-After]`,
/// or one of three words. `"cut"` ends the connection without a response. `"lost"` stores the batch
/// first, and then ends the connection without a response. `"denied"` sends a response with status
/// 200 that reports that nothing was stored.
final class SyncPeer: Sendable {
  let process: LabProcess
  let port: Int
  private let lines: LineReader

  var url: String { "http://127.0.0.1:\(port)" }

  static func run(
    _ plan: String, offers: String = "", limit: Int = 1 << 30,
    _ body: (SyncPeer) async throws -> Void
  ) async throws {
    let peer = try await SyncPeer(plan, offers, limit)
    do {
      try await body(peer)
    } catch {
      peer.process.signal(SIGKILL)
      throw error
    }
    peer.process.signal(SIGKILL)
    _ = await peer.process.exit()
  }

  private init(_ plan: String, _ offers: String, _ limit: Int) async throws {
    process = try LabProcess(["python3", "-u", "-c", Self.script, plan, offers, "\(limit)"])
    lines = LineReader(process.lines)
    let first: [String: Any] = try .reading(await lines.next())
    port = try #require(first["port"] as? Int)
  }

  /// Ends the server, and returns the requests that it received.
  func requests() async throws -> [[String: Any]] {
    process.signal(SIGKILL)
    var found: [[String: Any]] = []
    while case let line = await lines.next(), !line.isEmpty { found.append(try .reading(line)) }
    return found
  }

  private static let script = """
    import gzip, json, socket, sys
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    plan, offers, limit = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])

    # In one piece: two requests may be answered at the same time.
    def tell(event): sys.stdout.write(json.dumps(event) + chr(10))

    class Handler(BaseHTTPRequestHandler):
      protocol_version = 'HTTP/1.1'
      def log_message(self, *words): pass

      def answer(self, status, body, fields={}):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        for name in fields: self.send_header(name, fields[name])
        self.end_headers()
        self.wfile.write(body)

      def do_GET(self):
        fields = {'Accept-Encoding': offers} if offers else {}
        self.answer(200, {'status': 'ok', 'endpoint': 'sync'}, fields)

      def do_POST(self):
        raw = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        encoding = self.headers.get('Content-Encoding')
        seen = {'path': self.path, 'encoding': encoding, 'bytes': len(raw),
          'secret': self.headers.get('Authorization')}
        if self.path != '/api/sync':
          tell(seen)
          return self.answer(200, {'success': True, 'refreshedIn': 1})
        batch = json.loads(gzip.decompress(raw) if encoding == 'gzip' else raw)
        seen['uuids'] = [record['uuid'] for record in batch.get('records', [])]
        seen['values'] = [int(record['value']) for record in batch.get('records', [])]
        seen['deleted'] = batch['deletedUUIDs']
        seen['type'] = batch['dataType']
        step = plan.pop(0) if plan else 200
        if len(raw) > limit: step = 413
        status = step[0] if isinstance(step, list) else step
        seen['status'] = status
        tell(seen)
        if status in ('cut', 'lost'):
          self.connection.shutdown(socket.SHUT_RDWR)
          self.close_connection = True
          return
        if status == 'denied':
          return self.answer(200, {'success': False, 'error': 'database is locked'})
        if status == 200:
          count = len(seen['uuids'])
          return self.answer(200, {'success': True, 'skippedDuplicates': 0,
            'inserted': {'records': count, 'workouts': 0}})
        fields = {'Retry-After': str(step[1])} if isinstance(step, list) else {}
        self.answer(status, {'error': 'planned', 'details': 'as planned'}, fields)

    server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    tell({'port': server.server_port})
    server.serve_forever()
    """
}
