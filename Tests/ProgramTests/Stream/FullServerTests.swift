import Foundation
import HoldfastRigs
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// A server that returns pages of messages, and answers every post with the same status.
///
/// If the status is 0, the server never answers a post.
private struct FullServer {
  let process: LabProcess
  let url: String
  private let lines: LineReader

  init(_ status: Int) async throws {
    process = try LabProcess([
      "python3", "-u", "-c",
      """
      import http.server, json, time
      class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def reply(self, status, value):
          body = json.dumps(value).encode()
          self.send_response(status)
          self.send_header("Content-Type", "application/json")
          self.send_header("Content-Length", str(len(body)))
          self.end_headers()
          self.wfile.write(body)
        def do_GET(self):
          if "upgrade" in self.headers.get("Connection", "").lower():
            return self.reply(404, {})
          self.reply(200, {"status": 200, "message": "", "data": {"messages": []}})
        def do_POST(self):
          self.rfile.read(int(self.headers["Content-Length"]))
          print("posted")
          if \(status) == 0: time.sleep(1000)
          self.reply(\(status), {"status": \(status), "message": "the store failed"})
        def log_message(self, *words): pass
      server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
      print(server.server_port)
      server.serve_forever()
      """,
    ])
    lines = LineReader(process.lines)
    url = "http://127.0.0.1:\(await lines.next())"
  }

  /// Waits for the next post to arrive.
  func posted() async { _ = await lines.next() }

  func end() async {
    process.signal(SIGKILL)
    _ = await process.exit()
  }
}

/// Tests of a server that is reachable but cannot store messages.
@Suite(.timeLimit(.minutes(60))) struct FullServerTests {
  private static let token = ["HOLDFAST_TOKEN": "any.good.token"]

  @Test(arguments: [
    (503, Int32(1), "the server could not store the message within 15s: the server answered 503"),
    (507, 1, "the server could not store the message within 15s: the server answered 507"),
    (502, 1, "the server did not confirm the message within 15s: the server answered 502"),
  ])
  func `send reports that the server could not store the message`(
    status: Int, code: Int32, cause: String
  ) async throws {
    let server = try await FullServer(status)
    let outcome = try await CommandProcess.run(
      "send", "--server", server.url, "--shop", "bakery", "--timeout", "15s", "hello",
      environment: Self.token)
    await server.end()
    #expect(outcome.status == code)
    #expect(outcome.errors.count == 1)
    #expect(outcome.errors.first?.hasPrefix("holdfast send: \(cause)") == true, "\(outcome.errors)")
  }

  @Test(arguments: [
    (false, "it may have arrived; check before you send it again"),
    (true, "it is stored; the next stream or send with this --data sends it"),
  ])
  func `send reports the fate of a message that a signal interrupts`(
    isKept: Bool, remedy: String
  ) async throws {
    let server = try await FullServer(0)
    let scratch = try Scratch()
    let arguments = ["send", "--server", server.url, "--shop", "bakery", "hello"]
    let process = try CommandProcess.start(
      arguments + (isKept ? ["--data", scratch("data")] : []), environment: Self.token)
    await server.posted()
    process.signal(SIGINT)
    let outcome = await CommandProcess.outcome(of: process)
    await server.end()
    let cause = "ended by a signal before the server confirmed the message"
    #expect(outcome == .failure(1, "holdfast send: \(cause); \(remedy)"))
  }

  @Test func `stream with --once reports why its messages are not sent`() async throws {
    let server = try await FullServer(503)
    try await CommandProcess.scratch { directory in
      let line =
        "printf 'hello\\n' | \(CommandProcess.path) stream --server \(server.url) --shop bakery "
        + "--data \(directory) --send-stdin --once --no-realtime --duration 15s --json"
      let outcome = await CommandProcess.outcome(
        of: try LabProcess(["sh", "-c", line], environment: Self.token))
      #expect(outcome.status == 1)
      let notice = outcome.output.first { $0.contains("send-failed") } ?? ""
      #expect(notice.contains("the server answered 503 (service unavailable): the store failed"))
      #expect(
        outcome.errors == [
          "holdfast stream: the server could not store the message within 15s: "
            + "the server answered 503 (service unavailable): the store failed"
        ])
    }
    await server.end()
  }

  @Test func `stream with --once fails if a signal ends it too early`() async throws {
    let server = try await FullServer(503)
    try await CommandProcess.scratch { directory in
      try "hello\n".write(toFile: directory + "/lines", atomically: true, encoding: .utf8)
      let line =
        "exec \(CommandProcess.path) stream --server \(server.url) --shop bakery "
        + "--data \(directory) --send-stdin --once --no-realtime --json < \(directory)/lines"
      let process = try LabProcess(["sh", "-c", line], environment: Self.token)
      let events = CommandEvents(process)
      #expect(await events.line(with: "send-failed") != "")
      #expect(await events.end().status == 1)
      var errors: [String] = []
      for await line in process.diagnostics { errors.append(line) }
      #expect(
        errors == [
          "holdfast stream: ended by a signal before it had caught up and sent everything; "
            + "run it again"
        ])
    }
    await server.end()
  }

  @Test func `sending a message takes one request`() async throws {
    try await CommandShop.run { shop in
      let outcome = try await CommandProcess.run(
        shop.arguments("send", ["hello"]), environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 0)
      try await shop.post("marker")
      var routes: [String] = []
      while case let line = try await shop.logged("request"), line["user"] as? String == "ann" {
        routes.append(line["route"] as? String ?? "")
      }
      #expect(routes == ["send"])
    }
  }
}
