import Foundation
import HoldfastTestKit
import Testing

#if canImport(Glibc)
  import Glibc
#endif

@Suite(.timeLimit(.minutes(60))) struct StreamCommandTests {
  static let connecting =
    #"{"at":"MS","event":"status","status":"CONNECTING","attempt":1,"#
    + #""of":null,"retryIn":null,"mode":"none","reason":null}"#
  static let connected =
    #"{"at":"MS","event":"status","status":"CONNECTED","attempt":0,"#
    + #""of":null,"retryIn":null,"mode":"live","reason":null}"#

  static let disconnected =
    #"{"at":"MS","event":"status","status":"DISCONNECTED","#
    + #""attempt":0,"of":null,"retryIn":null,"mode":"none","reason":null}"#

  static func message(
    _ text: String, via: String, by user: String = "WRITER", position: String = #""EPOCH:N""#
  ) -> String {
    #"{"at":"MS","event":"message","id":"ID","createdAt":"TIME","username":"\#(user)","#
      + #""text":"\#(text)","via":"\#(via)","position":\#(position)}"#
  }

  @Test func `prints the events that scripts depend on`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("before")
      let stream = try await shop.stream()
      var lines = [await stream.next()]
      lines.append(await stream.next())
      lines.append(await stream.next())
      try await shop.post("while")
      lines.append(await stream.next())
      // The stored message and the connection may be reported in either order.
      #expect(
        Set(lines[1...2].map(normal)) == [Self.message("before", via: "history"), Self.connected])
      #expect(
        [normal(lines[0]), normal(lines[3])] == [
          Self.connecting, Self.message("while", via: "live"),
        ])
      let (rest, status) = await stream.end()
      #expect(rest.map(normal) == [Self.disconnected])
      #expect(status == 0)
      #expect(try await shop.logged("closed")["code"] as? Int == 1000)
    }
  }

  @Test func `shows each message once across ends and restarts`() async throws {
    try await CommandShop.run { shop in
      var runs: [[String]] = []
      for (run, (signal, end)) in [(SIGTERM, 0), (SIGKILL, SIGKILL), (SIGINT, 0)].enumerated() {
        try await shop.post("while it was away \(run)")
        let stream = try await shop.stream()
        await stream.live()
        try await shop.post("while it was there \(run)")
        #expect(await stream.line(with: "there \(run)") != "")
        stream.process.signal(signal)
        let (rest, status) = await stream.rest()
        #expect(status == end)
        #expect(rest.filter { $0.contains(#""event":"message""#) } == [])
        let shown = try await CommandProcess.run(
          "history", "--data", shop.directory, "--json")
        runs.append(try shown.output.map { try [String: Any].reading($0)["text"] as? String ?? "" })
      }
      let all = (0...2).flatMap { ["while it was away \($0)", "while it was there \($0)"] }
      #expect(runs == [Array(all.prefix(2)), Array(all.prefix(4)), all])
    }
  }

  @Test func `shows stored messages before it fetches the rest, and nothing twice`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("kept")
      let first = try await shop.stream()
      await first.live()
      _ = await first.end()
      try await shop.post("missed")
      let stream = try await shop.stream("--once")
      let lines = await stream.rest().lines.filter { $0.contains(#""event":"message""#) }
      #expect(
        lines.map(normal) == [
          Self.message("kept", via: "history"), Self.message("missed", via: "catchUp"),
        ])
    }
  }

  @Test func `catches up once, also by polling`() async throws {
    try await CommandShop.run { shop in
      try await shop.post((1...250).map { "\($0)" })
      for way in [[], ["--no-realtime"]] {
        let arguments = shop.arguments(
          "stream", ["--json", "--once", "--data", shop.directory] + way)
        let outcome = try await CommandProcess.run(
          arguments, environment: ["HOLDFAST_TOKEN": try await shop.token()])
        #expect(outcome.status == 0)
        #expect(outcome.output.filter { $0.contains(#""event":"message""#) }.count == 50)
        try await shop.post((251...400).map { "\($0)" })
        let next = try await CommandProcess.run(
          arguments, environment: ["HOLDFAST_TOKEN": try await shop.token()])
        #expect(next.output.filter { $0.contains(#""event":"message""#) }.count == 200)
        try FileManager.default.removeItem(atPath: shop.directory)
      }
    }
  }

  @Test func `keeps lines typed at the last moment`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream("--send-stdin")
      let first = try [String: Any].reading(await stream.next())
      #expect(first["event"] as? String == "status")
      for number in 1...20 { stream.process.send("line \(number)") }
      #expect(await stream.line(with: "outbox", "line 20") != "")
      #expect(await stream.end().status == 0)
      let next = try await shop.stream()
      #expect(await next.line(with: "message", "line 20") != "")
      #expect(await next.end().status == 0)
      let shown = try await CommandProcess.run("history", "--data", shop.directory, "--json")
      // If a response arrives after the command has ended, the message remains in the outbox. Its
      // idempotency key prevents a duplicate.
      let texts = try shown.output.map { try [String: Any].reading($0) }
        .filter { $0["event"] as? String == "message" }.map { $0["text"] as? String ?? "" }
      #expect(texts == (1...20).map { "line \($0)" })
    }
  }

  @Test func `prints plain lines without a terminal`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("one\ntwo \u{1B}[31mred\u{202E}")
      let outcome = try await CommandProcess.run(
        shop.arguments("stream", ["--data", shop.directory, "--once"]),
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      #expect(outcome.status == 0)
      #expect(outcome.errors == [])
      #expect(
        Set(outcome.output.map(normal)) == [
          "-- CONNECTING 1", #"LOCAL  WRITER  one\ntwo \u{1B}[31mred\u{202E}"#,
          "-- CONNECTED (live)", "-- DISCONNECTED",
        ])
    }
  }

  @Test func `sends the lines of its input`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream("--send-stdin")
      await stream.live()
      stream.process.send("typed here")
      let waiting = await stream.line(with: #""event":"outbox""#)
      let key = try [String: Any].reading(waiting)["key"] as? String ?? "none"
      #expect(
        normal(waiting) == #"{"at":"MS","event":"outbox","key":"ID","text":"typed here","#
          + #""state":"queued","tries":0}"#)
      let sent = await stream.line(with: #""event":"sent""#, key)
      #expect(normal(sent) == #"{"at":"MS","event":"sent","key":"ID","id":"ID"}"#)
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `enters and leaves the background on signals`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      stream.process.signal(SIGUSR1)
      #expect(
        normal(await stream.line(with: "DISCONNECTED"))
          == #"{"at":"MS","event":"status","status":"DISCONNECTED","attempt":0,"of":null,"#
          + #""retryIn":null,"mode":"none","reason":"background"}"#)
      try await shop.post("while away")
      stream.process.signal(SIGUSR2)
      let connecting = await stream.next()
      #expect(normal(connecting) == Self.connecting)
      let two = [await stream.next(), await stream.next()]
      #expect(
        Set(two.map(normal)) == [Self.message("while away", via: "catchUp"), Self.connected])
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `refreshes on a signal`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("old")
      let stream = try await shop.stream("--no-realtime")
      #expect(
        normal(await stream.line(with: "FAILED"))
          == #"{"at":"MS","event":"status","status":"FAILED","attempt":0,"of":null,"#
          + #""retryIn":null,"mode":"polling","reason":"realtime-off"}"#)
      #expect(await stream.line(with: "message", "old") != "")
      try await shop.post("new")
      stream.process.signal(SIGHUP)
      #expect(await stream.line(with: "message", "new") != "")
      #expect(await stream.end().status == 0)
    }
  }

  @Test func `ends on Ctrl-C`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream()
      await stream.live()
      stream.process.signal(SIGINT)
      #expect(await stream.rest().status == 0)
      #expect(try await shop.logged("closed")["code"] as? Int == 1000)
    }
  }

  @Test func `ends with 0 when the reader has gone`() async throws {
    try await CommandShop.run { shop in
      let arguments = shop.arguments("stream", ["--data", shop.directory, "--json"])
      let line = ([CommandProcess.path] + arguments).joined(separator: " ")
      let pipe = try LabProcess(
        ["bash", "-c", "\(line) | head -n 1; echo ${PIPESTATUS[0]}"],
        environment: ["HOLDFAST_TOKEN": try await shop.token()])
      // The command cannot write messages that are posted after `head` has exited. A few may be
      // posted earlier.
      let posting = Task {
        while !Task.isCancelled { _ = try? await shop.post("still there?") }
      }
      let outcome = await CommandProcess.outcome(of: pipe)
      posting.cancel()
      await posting.value
      #expect(outcome.output.map(normal) == [Self.connecting, "0"])
      #expect(outcome.errors == [])
    }
  }

  @Test func `a second signal ends the command immediately`() async throws {
    try await CommandShop.run { shop in
      let proxy = try FaultProxy(upstream: shop.port)
      let stream = try await shop.stream(through: proxy.port)
      await stream.live()
      // The command waits for a response to its close frame, which the server does not send.
      try await proxy.set(.blackhole())
      // Stop the process first, so that it receives both signals together even on a busy machine.
      for signal in [SIGSTOP, SIGINT, SIGTERM, SIGCONT] { stream.process.signal(signal) }
      let (_, status) = await stream.rest()
      var errors: [String] = []
      for await line in stream.process.diagnostics { errors.append(line) }
      #expect(status == 1)
      #expect(errors == ["holdfast stream: ended immediately by a second signal"])
    }
  }

  @Test func `shows a screen on a terminal`() async throws {
    try await CommandShop.run { shop in
      try await shop.post("\u{1B}[2J")
      let arguments = shop.arguments("stream", ["--data", shop.directory])
      let terminal = try LabProcess(
        ["python3", "-c", Self.terminal, CommandProcess.path] + arguments,
        environment: ["HOLDFAST_TOKEN": try await shop.token(), "TERM": "xterm"])
      let outcome = await CommandProcess.outcome(of: terminal)
      #expect(outcome.errors == [])
      #expect(
        outcome.output == [
          "connected", "keys are ours", "escaped", "prompted", "typed", "sent", "status 0",
          "keys are back",
        ])
    }
  }

  /// A Python script that types into a terminal, and makes one typing error.
  private static let terminal = #"""
    import os, pty, select, sys, termios
    child, terminal = pty.fork()
    if child == 0: os.execv(sys.argv[1], sys.argv[1:])
    seen = b""
    def wait(text, name):
        global seen
        while text not in seen: seen += os.read(terminal, 4096)
        print(name, flush=True)
    def cooked(): return termios.tcgetattr(terminal)[3] & (termios.ICANON | termios.ECHO)
    wait(b"CONNECTED (live)", "connected")
    def keys(): print("keys are back" if cooked() else "keys are ours", flush=True)
    keys()
    wait(rb"\u{1B}[2J", "escaped")
    wait(b" > (Enter sends what you type)", "prompted")
    os.write(terminal, b"helloo")
    wait(b" > helloo", "typed")
    os.write(terminal, b"\x7f w\xc3\xb6rld\n")
    wait("  hello wörld\r\n".encode(), "sent")
    os.write(terminal, b"\x04")
    try:
        while os.read(terminal, 4096): pass
    except OSError: pass
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    keys()
    """#

  @Test func `shows the wait before the next attempt`() async throws {
    try await CommandShop.run { shop in
      let stream = try await shop.stream(
        "--set", "retry.first=1h", "--set", "retry.reconnect=1h", "--set", "standby.interval=1h",
        "--set", "retry.serverJitter=1ms")
      await stream.live()
      await shop.kill()
      let waiting = await stream.line(with: "RECONNECTING", #""retryIn":"#, #""of":1"#)
      let status = try [String: Any].reading(waiting)
      let wait = status["retryIn"] as? Double ?? 0
      #expect(wait > 3_000 && wait <= 3_600)
      #expect(status["reason"] as? String != nil)
      #expect(await stream.end().status == 0)
    }
  }
}
