import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast socket` with servers of this package and of other makers.
@Suite(.timeLimit(.minutes(60))) struct SocketCommandTests {
  @Test(arguments: Maker.installed)
  func `sends the greeting first on every connection, and reconnects after any end`(maker: Maker)
    async throws
  {
    let codes: [UInt16] = [1000, 1001, 1011, 1012, 4000]
    let closing = codes.map { PlanEntry(expect: 1, send: [.text("a"), .text("b")], close: $0) }
    let plan = closing + [.refuse(503), PlanEntry(expect: 1, send: [.text("end")])]
    try await PeerServer.run(maker, plan) { server in
      let run = try SocketRun(server.url, ["--hello", "HI"])
      #expect(try await run.texts(11) == codes.flatMap { _ in ["a", "b"] } + ["end"])
      #expect(try await server.got(6) == Array(repeating: "HI", count: 6))
      #expect(await run.interrupt() == 0)
      let code = try await server.next { $0.event == "ended" && $0.connection == 7 ? $0.code : nil }
      #expect(code == 1000)
    }
  }

  @Test(arguments: Maker.installed)
  func `sends lines once and in order across connections`(maker: Maker) async throws {
    let plan = [PlanEntry(expect: 4, close: 1012), PlanEntry(expect: 4)]
    try await PeerServer.run(maker, plan) { server in
      let run = try SocketRun(server.url, ["--hello", "HI", "--send-stdin"])
      try await run.status("CONNECTED")
      for line in ["1", "2", "3"] { run.process.send(line) }
      #expect(try await server.got(4) == ["HI", "1", "2", "3"])
      try await run.status("RECONNECTING")
      for line in ["4", "5", "6"] { run.process.send(line) }
      #expect(try await server.got(4) == ["HI", "4", "5", "6"])
      _ = try await run.next { $0["count"] as? Int == 6 ? () : nil }
      #expect(await run.interrupt() == 0)
    }
  }

  @Test func `lines wait in the pipe until there is a connection, whatever their number`()
    async throws
  {
    let lines = (1...1_500).map(String.init)
    let port = TestPort.random()
    var started: SocketRun?
    try await PeerServer.run(.holdfast, [PlanEntry(send: [.text("one")])], port: port) { server in
      let run = try SocketRun(server.url, ["--send-stdin"])
      #expect(try await run.texts(1) == ["one"])
      started = run
    }
    let run = try #require(started)
    try await run.next { $0["reason"] as? String == "refused" ? () : nil }
    run.process.send(lines.joined(separator: "\n"))
    // Wait for three more refusals. By then, a command that reads lines too early would have read
    // some.
    for _ in 1...3 { try await run.status("RECONNECTING") }
    try await PeerServer.run(.holdfast, [PlanEntry(expect: lines.count)], port: port) { server in
      let got = try await server.got(lines.count)
      #expect(got == lines)
      #expect(await run.interrupt() == 0)
    }
  }

  @Test(arguments: Maker.installed)
  func `ends with 3 after 401 and with 4 after 403`(maker: Maker) async throws {
    for (status, code) in [(401, Int32(3)), (403, 4)] {
      try await PeerServer.run(maker, [.refuse(status)]) { server in
        let run = try SocketRun(server.url)
        #expect(await run.process.exit() == code)
      }
    }
  }

  @Test(arguments: Maker.installed)
  func `each 401 leads to one more run of the token command`(maker: Maker) async throws {
    let plan: [PlanEntry] = [.refuse(401), .echo]
    try await PeerServer.run(maker, plan) { server in
      let run = try SocketRun(server.url, ["--token-command", "date +t%N"])
      let refused = try await server.next { $0.event == "refused" ? $0.headers : nil }
      let opened = try await server.opened().headers
      let tokens = [refused["authorization"], opened?["authorization"]].compactMap(\.self)
      #expect(tokens.count == 2 && Set(tokens).count == 2)
      #expect(tokens.allSatisfy { $0.hasPrefix("Bearer t") })
      #expect(await run.interrupt() == 0)
    }
    try await PeerServer.run(maker, [.refuse(401)]) { server in
      let run = try SocketRun(server.url, ["--token-command", "date +t%N"])
      #expect(await run.process.exit() == 3)
      let count = try await server.next { $0.connection }
      #expect(count == 1)
      let second = try await server.next { $0.connection }
      #expect(second == 2)
    }
  }

  @Test(arguments: Maker.installed)
  func `negotiates a subprotocol, sends headers and receives compressed messages`(
    maker: Maker
  ) async throws {
    let plan = [PlanEntry(send: [.long(3_000_000), .binary(300_000)])]
    try await PeerServer.run(maker, plan) { server in
      let run = try SocketRun(
        server.url,
        ["--subprotocol", "feed.v1", "--subprotocol", "other", "--header", "X-Test: seen"],
        environment: ["HOLDFAST_SOCKET_HEADERS": "Authorization: Bearer hidden"])
      let opened = try await server.opened()
      #expect(opened.subprotocol == "feed.v1")
      #expect(opened.headers?["x-test"] == "seen")
      #expect(opened.headers?["authorization"] == "Bearer hidden")
      #expect(opened.compressed == true)
      #expect(try await run.texts(1).map(\.utf8.count) == [3_000_000])
      let binary = try await run.next { $0["binary"] as? String }
      #expect(Data(base64Encoded: binary) == Data(PlanEntry.Item.binary(300_000).bytes))
      #expect(await run.interrupt() == 0)
    }
  }

  @Test func `a message over 16 MiB causes a notice, and the next message arrives`() async throws {
    let plan = [PlanEntry(send: [.long(16 << 20 + 1), .text("next")])]
    try await PeerServer.run(.holdfast, plan) { server in
      let run = try SocketRun(server.url)
      let kind = try await run.next { $0["kind"] as? String }
      #expect(kind == "oversized")
      #expect(try await run.texts(1) == ["next"])
      #expect(await run.interrupt() == 0)
    }
  }

  @Test(arguments: Maker.installed)
  func `reconnects when a server is available again`(maker: Maker) async throws {
    let port = TestPort.random()
    var started: SocketRun?
    try await PeerServer.run(maker, [PlanEntry(send: [.text("one")])], port: port) { server in
      let run = try SocketRun(server.url)
      #expect(try await run.texts(1) == ["one"])
      started = run
    }
    let run = try #require(started)
    let reason = try await run.next { $0["reason"] as? String == "refused" ? "refused" : nil }
    #expect(reason == "refused")
    try await PeerServer.run(maker, [PlanEntry(send: [.text("two")])], port: port) { _ in
      let texts = try await run.texts(1)
      #expect(texts == ["two"])
      #expect(await run.interrupt() == 0)
    }
  }

  @Test(arguments: Maker.foreign)
  func `reconnects after a server falls silent`(maker: Maker) async throws {
    let plan = [PlanEntry(send: [.text("one")]), PlanEntry(send: [.text("two")])]
    try await PeerServer.run(maker, plan) { server in
      let run = try SocketRun(
        server.url, ["--set", "liveness.ping=1s", "--set", "liveness.pongTimeout=500ms"])
      #expect(try await run.texts(1) == ["one"])
      server.signal(SIGSTOP)
      let reason = try await run.next { $0["reason"] as? String }
      #expect(reason == "silent")
      server.signal(SIGCONT)
      #expect(try await run.texts(1) == ["two"])
      #expect(await run.interrupt() == 0)
    }
  }

  @Test(arguments: Maker.foreign)
  func `Ctrl-C ends the command although the server no longer responds`(maker: Maker) async throws {
    try await PeerServer.run(maker, [PlanEntry(expect: 1)]) { server in
      let run = try SocketRun(server.url, ["--send-stdin"])
      try await run.status("CONNECTED")
      server.signal(SIGSTOP)
      run.process.send("into the void")
      _ = try await run.next { $0["count"] as? Int == 1 ? () : nil }
      #expect(await run.interrupt() == 0)
      server.signal(SIGCONT)
    }
  }

  @Test func `with --once a refused token is renewed before it ends`() async throws {
    let plan: [PlanEntry] = [.refuse(401), PlanEntry(send: [.text("a")], close: 1000)]
    try await PeerServer.run(.holdfast, plan) { server in
      let outcome = try await CommandProcess.run(
        "socket", server.url, "--once", "--token-command", "date +t%N")
      #expect(outcome.status == 0)
      #expect(outcome.output == ["a"])
    }
  }

  @Test func `an @ in the path or the query is not taken for a user name`() async throws {
    try await PeerServer.run(.holdfast, [PlanEntry(send: [.text("a")], close: 1000)]) { server in
      let url = server.url + "@trade?of=a@b"
      let outcome = try await CommandProcess.run("socket", url, "--once")
      #expect(outcome.output == ["a"])
    }
  }

  @Test func `with --once the command ends with the first connection`() async throws {
    try await PeerServer.run(.holdfast, [PlanEntry(send: [.text("a")], close: 1011)]) { server in
      let outcome = try await CommandProcess.run("socket", server.url, "--once")
      #expect(outcome.status == 0)
      #expect(outcome.output == ["a"])
      let events = try SocketRun(server.url, ["--once"])
      #expect(await events.process.exit() == 0)
    }
    let outcome = try await CommandProcess.run("socket", "ws://127.0.0.1:9/", "--once")
    #expect(outcome.status == 6)
  }

  @Test func `the reason of a close is shown`() async throws {
    let plan = [PlanEntry(send: [.text("a")], close: 4000, reason: "moved\u{1B}[2J away")]
    try await PeerServer.run(.holdfast, plan) { server in
      let outcome = try await CommandProcess.run("socket", server.url, "--once")
      let line = outcome.errors.first { $0.contains("with code 4000") }
      #expect(line?.hasSuffix(" with code 4000: moved[2J away") == true, "\(outcome.errors)")
    }
  }

  @Test func `a redirect is reported with its status, and not as a login page`() async throws {
    try await PeerServer.run(.holdfast, [.refuse(308)]) { server in
      let outcome = try await CommandProcess.run("socket", server.url, "--once")
      #expect(outcome.status == 1)
      let said = outcome.errors.last ?? ""
      #expect(said.contains("at this URL: the server answered 308"), "\(said)")
      #expect(!said.contains("login"))
    }
  }

  @Test func `a server that never answers the upgrade causes an upgrade time-out`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      let proxy = try FaultProxy(upstream: server.port)
      try await proxy.set(.blackhole())
      // The connection comes first. On a busy machine it may take all of a short time.
      var outcome: CommandProcess.Outcome
      var seconds = 5
      repeat {
        outcome = try await CommandProcess.run(
          "socket", "ws://127.0.0.1:\(proxy.port)/", "--once", "--set",
          "establish.openTimeout=\(seconds)s", "--set", "establish.timeout=3h")
        seconds *= 4
      } while outcome.errors.last?.contains("no connection was made in time") == true
      #expect(outcome.status == 6)
      #expect(
        outcome.errors.last?.contains("handshake was not completed") == true, "\(outcome.errors)")
    }
  }

  @Test func `an international host name is resolved in its ASCII form`() async throws {
    let outcome = try await CommandProcess.run(
      "socket", "wss://b\u{FC}cher.invalid/", "--once", environment: ["no_proxy": "*"])
    #expect(outcome.status == 6)
    #expect(outcome.errors.last?.contains("xn--bcher-kva.invalid") == true, "\(outcome.errors)")
  }

  @Test func `with --once there is no second attempt, even if it would follow immediately`()
    async throws
  {
    try await PeerServer.run(.holdfast, [.refuse(503), .refuse(503), .echo]) { server in
      for connection in 1...2 {
        let outcome = try await CommandProcess.run(
          "socket", server.url, "--once", "--set", "retry.first=0s")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains { $0.contains("answered 503 (service unavailable)") })
        #expect(try await server.next { $0.connection } == connection)
      }
    }
  }

  @Test func `prints nothing about a token command that Ctrl-C ends`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      let run = try SocketRun(
        server.url,
        [
          "--token-command", "echo started >&2; exec sleep 1000", "--set",
          "gate.refreshTimeout=10m",
        ])
      var lines = run.process.diagnostics.makeAsyncIterator()
      #expect(await lines.next() == "started")
      #expect(await run.interrupt() == 0)
      #expect(await lines.next() == nil)
    }
  }

  @Test func `JSON output contains no raw C1 control characters`() async throws {
    let text = "one\u{9B}2J\u{80}\u{9F}\u{A0}é"
    try await PeerServer.run(.holdfast, [PlanEntry(send: [.text(text)], close: 1000)]) { server in
      let outcome = try await CommandProcess.run("socket", server.url, "--once", "--json")
      let line = try #require(outcome.output.first { $0.contains(#""text""#) })
      #expect(line.contains(#""text":"one\u009b2J\u0080\u009f"# + "\u{A0}é\""))
      #expect(try [String: Any].reading(line)["text"] as? String == text)
    }
  }

  @Test func `announces that a line typed without a connection waits`() async throws {
    let outcome = await CommandProcess.outcome(
      of: try LabProcess(
        ["python3", "-c", Self.terminal, CommandProcess.path, "socket", "ws://127.0.0.1:9/"],
        environment: ["TERM": "xterm"]))
    #expect(outcome.errors == [])
    #expect(outcome.output == ["waits", "second waits", "status 0"])
  }

  /// A Python script that types two lines into a terminal.
  private static let terminal = #"""
    import os, pty, sys
    child, terminal = pty.fork()
    if child == 0: os.execv(sys.argv[1], sys.argv[1:])
    seen = b""
    def wait(text, name):
        global seen
        while text not in seen: seen += os.read(terminal, 4096)
        print(name, flush=True)
    os.write(terminal, b"first\n")
    wait(b"line 1 waits: there is no connection", "waits")
    os.write(terminal, b"second\n")
    wait(b"line 2 waits: there is no connection", "second waits")
    os.write(terminal, b"\x04")
    try:
        while os.read(terminal, 4096): pass
    except OSError: pass
    print("status", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    """#

  @Test func `prints a text as one line without active control characters`() async throws {
    let text = "one\ntwo\u{1B}[2J\tthree"
    try await PeerServer.run(.holdfast, [PlanEntry(send: [.text(text)], close: 1000)]) { server in
      let outcome = try await CommandProcess.run("socket", server.url, "--once")
      #expect(outcome.output == ["one\\ntwo\\u{1B}[2J\tthree"])
    }
  }

  @Test(arguments: [
    ["socket", "http://127.0.0.1:9/"], ["socket", "ws://example.com/"],
    ["socket", "ws://ann:pass@127.0.0.1:9/"], ["socket", "ws://127.0.0.1:9/?a=b c"],
    ["socket", "wss://\u{2FF0}.example/"], ["socket", "wss://a%zz.example/"],
    ["socket", "ws://[::1/"], ["socket", "ws://127.0.0.1:9/#part"],
    [
      "socket", "ws://127.0.0.1:9/", "--token-command", "true", "--header",
      "Authorization: Basic x",
    ],
    ["socket", "ws://127.0.0.1:9/", "--header", "no colon"],
    ["socket", "ws://127.0.0.1:9/", "--header", "Host: other"],
    ["socket", "ws://127.0.0.1:9/", "--subprotocol", "a b"],
    ["socket", "ws://127.0.0.1:9/", "--set", "retry.nothing=1"],
  ])
  func `rejects invalid arguments before it connects`(arguments: [String]) async throws {
    let outcome = try await CommandProcess.run(arguments)
    #expect(outcome.status == 2)
    #expect(outcome.output == [])
    #expect(!outcome.errors.isEmpty)
  }

  @Test func `a journal replays, and contains no message content`() async throws {
    try await CommandProcess.scratch { directory in
      let journal = directory + "/journal"
      try await PeerServer.run(.holdfast, [PlanEntry(expect: 2, send: [.text("pass-1")])]) {
        server in
        let run = try SocketRun(
          server.url,
          ["--hello", "pass-2", "--send-stdin", "--journal", journal, "--header", "X-Test: pass-3"])
        try await run.status("CONNECTED")
        run.process.send("pass-4")
        #expect(try await run.texts(1) == ["pass-1"])
        #expect(await run.interrupt() == 0)
      }
      let written = try String(contentsOfFile: journal, encoding: .utf8)
      #expect(!written.contains("pass-"))
      let replay = try await CommandProcess.run("replay", journal)
      #expect(replay.status == 0)
      let judged = try await CommandProcess.run(["judge", journal], of: "holdfast-sim")
      #expect(judged.status == 0)
      for checker in ["lost", "duplicated", "unannounced", "stuck", "storm", "falselyConnected"] {
        #expect(judged.output.contains { $0.hasPrefix(checker + " ") && $0.hasSuffix(" nothing") })
      }
    }
  }

  @Test func `headers and greetings do not appear in the process list`() async throws {
    try await PeerServer.run(.holdfast, [.echo]) { server in
      let run = try SocketRun(
        server.url,
        ["--header", "Authorization: Bearer hidden-1", "--hello", "hidden-2"])
      try await run.status("CONNECTED")
      let text = try String(
        contentsOfFile: "/proc/\(run.process.identifier)/cmdline", encoding: .utf8)
      #expect(!text.contains("hidden-"))
      #expect(await run.interrupt() == 0)
    }
  }
}
