import Foundation
import Glibc
import HoldfastRigs
import HoldfastTestKit
import Testing

/// Tests of `holdfast session` with a server that is not part of this package.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Maker.python != nil, "needs `make setup`"))
struct SessionCommandTests {
  private static let dialects = [
    #""dialect": "kept""#, #""dialect": "kept", "version": "0.4.0""#,
    #""dialect": "kept", "challenge": true"#, #""dialect": "original""#,
    #""dialect": "original", "version": "0.4.0", "compress": false"#,
  ]

  @Test(arguments: dialects)
  func `prompts are answered once and in order`(dialect: String) async throws {
    let scratch = try Scratch()
    try await SessionPeer.run("{\(dialect)}") { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one", "two", "three")
      let (status, events) = try await run.end()
      #expect(status == 0)
      #expect(
        events.messages == ["assistant echo one", "assistant echo two", "assistant echo three"])
      #expect(events.states(of: "two") == ["queued", "sent", "accepted", "answered"])
      let seen = try await peer.seen()
      #expect(seen.ran == ["one", "two", "three"])
      #expect(seen.connections == 1)
      #expect(seen.types(of: 1).first == "connect")
    }
  }

  @Test(arguments: dialects, ["prompt", "ack", "response"])
  func `a cut connection loses and duplicates nothing`(dialect: String, point: String) async throws
  {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{\#(dialect), "plan": [{"cut": "\#(point)"}, {}]}"#) { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one", "two")
      let (status, events) = try await run.end()
      // The original's server does not send a response again. Its history contains the text, but
      // does not show whether the text is complete.
      let isUnsure = dialect.contains("original") && point != "prompt"
      #expect(status == (isUnsure ? 1 : 0))
      #expect(events.states(of: "one").last == (isUnsure ? "unsure" : "answered"))
      #expect(events.states(of: "two").last == "answered")
      #expect(events.messages == ["assistant echo one", "assistant echo two"])
      let seen = try await peer.seen()
      #expect(seen.ran == ["one", "two"])
      #expect(seen.connections == 2)
    }
  }

  @Test func `each id is shown once across runs with the same data, even after a kill`()
    async throws
  {
    let scratch = try Scratch()
    let plan = #"{"plan": [{}, {"cut": "response"}, {}]}"#
    try await SessionPeer.run(plan) { peer in
      let first = try SessionRun(port: peer.port, in: scratch)
      first.prompt("one")
      #expect(try await first.end().events.messages == ["assistant echo one"])
      let second = try SessionRun(port: peer.port, in: scratch, [])
      second.process.send("two")
      try await second.next { $0["state"] as? String == "queued" ? () : nil }
      second.process.signal(SIGKILL)
      _ = await second.process.exit()
      let third = try SessionRun(port: peer.port, in: scratch)
      third.prompt()
      let (status, events) = try await third.end()
      #expect(status == 0)
      // The killed run may already have shown the response.
      #expect([[], ["assistant echo two"]].contains(events.messages))
      let last = try SessionRun(port: peer.port, in: scratch)
      last.prompt()
      #expect(try await last.end().events.messages == [])
      #expect(try await peer.seen().ran == ["one", "two"])
    }
  }

  @Test(arguments: ["", #""challenge": true"#, #""dialect": "original""#])
  func `a wrong key ends with 3 after at most two connections`(options: String) async throws {
    let scratch = try Scratch()
    try await SessionPeer.run("{\(options)}") { peer in
      let run = try SessionRun(
        port: peer.port, in: scratch, key: "untethered-" + String(repeating: "1", count: 32))
      run.prompt("one")
      let (status, events) = try await run.end()
      #expect(status == 3)
      #expect(events.messages == [])
      let seen = try await peer.seen()
      #expect(seen.connections <= 2)
      #expect(seen.ran == [])
    }
  }

  @Test func `a server without sessions ends a run with --once`() async throws {
    let scratch = try Scratch()
    try await CommandShop.run { shop in
      let run = try SessionRun(port: Int(shop.port), path: "/nope", in: scratch)
      run.prompt("one")
      #expect(try await run.end().status == 1)
      #expect(
        await run.errors() == [
          "holdfast session: the server has no sessions at this path: "
            + "the server answered 404 (not found): no such route; check the path of --server"
        ])
    }
  }

  @Test func `sends only connect before it receives connected`() async throws {
    let scratch = try Scratch()
    let plan = #"{"plan": [{"forget": ["connected"]}, {}]}"#
    try await SessionPeer.run(plan) { peer in
      let run = try SessionRun(
        port: peer.port, in: scratch,
        [
          "--once", "--set", "establish.timeout=6s", "--set", "establish.openTimeout=5s", "--set",
          "liveness.ping=1s",
        ])
      run.prompt("one")
      #expect(try await run.end().status == 0)
      #expect(try await peer.seen().types(of: 1) == ["connect"])
    }
  }

  @Test func `without a standard output the command ends with 1`() async throws {
    let scratch = try Scratch()
    try await SessionPeer.run("{}") { peer in
      try scratch.write(SessionPeer.key.utf8, to: "key")
      let arguments = [
        "session", "--server", "http://127.0.0.1:\(peer.port)/session", "--key-file",
        scratch("key"), "--data", scratch("data"), "--once", "--json",
      ]
      let process = try LabProcess(
        ["/bin/sh", "-c", #"exec "$@" >&-"#, "sh", CommandProcess.path] + arguments)
      process.send("one")
      process.endInput()
      let outcome = await CommandProcess.outcome(of: process)
      #expect(outcome.status == 1)
      #expect(
        outcome.errors.last == "holdfast: standard output cannot be written: Bad file descriptor")
    }
  }

  @Test func `without a reader of its output the command ends with 1, as nothing is answered`()
    async throws
  {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"plan": [{"forget": ["hello"]}]}"#) { peer in
      try scratch.write(SessionPeer.key.utf8, to: "key")
      let arguments = [
        "session", "--server", "http://127.0.0.1:\(peer.port)/session", "--key-file",
        scratch("key"), "--data", scratch("data"), "--once", "--json",
      ]
      // The reader has exited by the time the first line is written.
      let script = #"{ "$@"; echo $? > \#(scratch("status")); } | true"#
      let process = try LabProcess(
        ["/bin/sh", "-c", script, "sh", CommandProcess.path] + arguments)
      process.send("one")
      process.endInput()
      _ = await process.exit()
      #expect(try scratch.text(of: "status") == "1\n")
    }
  }

  @Test func `a failed prompt ends the command with 1`() async throws {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"plan": [{"fail": "no luck"}]}"#) { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one")
      let (status, events) = try await run.end()
      #expect(status == 1)
      #expect(events.states(of: "one").last == "failed")
      #expect(events.messages == [])
    }
  }

  @Test func `without a server the command ends with 6, and the next run sends the prompt`()
    async throws
  {
    let scratch = try Scratch()
    // Nothing listens on port 1. The port of a server that has ended may belong to another test.
    let run = try SessionRun(port: 1, in: scratch)
    run.prompt("one")
    #expect(try await run.end().status == 6)
    try await SessionPeer.run("{}") { peer in
      let next = try SessionRun(port: peer.port, in: scratch)
      next.prompt()
      let (status, events) = try await next.end()
      #expect(status == 0)
      #expect(events.messages == ["assistant echo one"])
      #expect(try await peer.seen().ran == ["one"])
    }
  }

  @Test func `a server that requires a newer version ends the command with 4`()
    async throws
  {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"plan": [{"outdated": "0.6.0"}]}"#) { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one")
      let (status, events) = try await run.end()
      #expect(status == 4)
      #expect(events.states(of: "one") == ["queued"])
      let errors = await run.errors()
      #expect(errors.last?.contains("use a newer holdfast") == true)
      let seen = try await peer.seen()
      #expect(seen.connections == 1)
      #expect(seen.types(of: 1) == ["connect"])
    }
    // The prompt was stored, and is now sent to the next server.
    try await SessionPeer.run("{}") { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt()
      #expect(try await run.end().events.messages == ["assistant echo one"])
    }
  }

  @Test func `a response without message_id is shown once, with an id derived from its prompt`()
    async throws
  {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"dialect": "original"}"#) { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one")
      let events = try await run.end().events
      let key = events.compactMap { $0["key"] as? String }.first ?? ""
      let shown = events.filter { $0["event"] as? String == "message" }
      #expect(shown.map { $0["id"] as? String } == ["response-\(key)"])
      let next = try SessionRun(port: peer.port, in: scratch)
      next.prompt("two")
      #expect(try await next.end().events.messages == ["assistant echo two"])
    }
  }

  @Test func `a prompt is sent again after a busy error`() async throws {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"plan": [{"error": ["busy", 1]}]}"#) { peer in
      let run = try SessionRun(port: peer.port, in: scratch)
      run.prompt("one")
      let (status, events) = try await run.end()
      #expect(status == 0)
      #expect(events.messages == ["assistant echo one"])
    }
  }

  @Test func `the journal can be replayed`() async throws {
    let scratch = try Scratch()
    try await SessionPeer.run(#"{"plan": [{"cut": "ack"}, {}]}"#) { peer in
      let journal = "\(scratch.path)/journal"
      let run = try SessionRun(port: peer.port, in: scratch, ["--once", "--journal", journal])
      run.prompt("one")
      #expect(try await run.end().status == 0)
      let text = try String(contentsOfFile: journal, encoding: .utf8)
      #expect(!text.contains(SessionPeer.key))
      let replay = try await CommandProcess.run("replay", journal)
      #expect(replay.status == 0, "\(replay)")
    }
  }
}
